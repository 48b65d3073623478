# The flags of every target, in one place.
add_library(slipway_flags INTERFACE)
target_compile_options(slipway_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wconversion
                                               -Wsign-conversion -Wimplicit-fallthrough -Werror -fno-plt)
# A precompiled header without the time it was made: ccache can answer from it.
target_compile_options(slipway_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
target_compile_definitions(slipway_flags INTERFACE SLIPWAY_VERSION="${PROJECT_VERSION}")
target_link_libraries(slipway_flags INTERFACE fmt_static Threads::Threads)
target_link_options(slipway_flags INTERFACE -fuse-ld=lld-19 -static-libstdc++ -static-libgcc)

if(SLIPWAY_FAILPOINTS)
  target_compile_definitions(slipway_flags INTERFACE SLIPWAY_WITH_FAILPOINTS)
endif()

if(SLIPWAY_SANITIZERS)
  set(sanitize -fsanitize=${SLIPWAY_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
if(SLIPWAY_FUZZ)
  # Coverage counters for the fuzzers; they cost the other programs little.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(slipway_flags INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(slipway_flags INTERFACE -Wl,--gc-sections,--icf=safe)
endif()
