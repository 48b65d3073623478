// The texts of torch_runtime.cpp and of the interface it includes, for the compiler of the machine that
// serves.
#pragma once

namespace slipway::serving {

extern const char* const kTorchRuntimeSource;
extern const char* const kTorchGraphSource;  // torch_graph.h
extern const char* const kRuntimeInterface;  // slipway_runtime.h

}  // namespace slipway::serving
