"""`python -m slipway ...` is `slipway ...`: the program that the wheel brings along, or the one on the PATH."""

import os
import sys

from .program import find_program

if __name__ == "__main__":
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])
