// Environments that are images. An engine fetches or builds the image and its files are unpacked into the
// build store once; jobs run in a private copy of them in the supervisor's mount namespace. So a job in an
// image starts as quickly as any other, is bounded, watched and ended like any other, and leaves nothing with
// the engine.
#pragma once

#include <memory>

#include "environments/build/workshop.h"

namespace slipway::environments {

std::unique_ptr<Builder> make_image_builder();

}  // namespace slipway::environments
