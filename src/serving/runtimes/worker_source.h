// The text of worker.py, which is part of the program.
#pragma once

namespace slipway::serving {

extern const char* const kWorkerSource;

}  // namespace slipway::serving
