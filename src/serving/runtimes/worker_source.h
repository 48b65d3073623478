// The texts of worker.py and torch_model.py, which are part of the program.
#pragma once

namespace slipway::serving {

extern const char* const kWorkerSource;
extern const char* const kTorchModelSource;

}  // namespace slipway::serving
