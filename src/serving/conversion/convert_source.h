// The text of convert.py, which is part of the program.
#pragma once

namespace slipway::serving {

extern const char* const kConvertSource;

}  // namespace slipway::serving
