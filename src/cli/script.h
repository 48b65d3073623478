// The file of the source folder that a command cannot do without.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace slipway::cli {

// "train.py" of `python -u train.py --x 1`, "run.sh" of `./run.sh`. nullopt when the command names none for
// sure: `python -m pkg`, `sh -c ...`, an absolute path, a program that is looked for in PATH. The path is
// normal:
// "./a/../b.py" is "b.py"; one that leads out of the folder begins with "..".
std::optional<std::string> script_of(const std::vector<std::string>& command);

}  // namespace slipway::cli
