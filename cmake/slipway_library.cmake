# Declares one folder of src/ as a library with its tests and fuzz targets.
#
#   slipway_library(runs DEPENDS store journal)
#
# foo.cc belongs to the library, foo_test.cc to its test program, foo_fuzz.cc is a fuzz target of its own. The
# order of the folders, and so what each may include, is checked by scripts/check-include-order.
function(slipway_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")

  set(target slipway_${name})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC slipway_flags PRIVATE ${ARG_PRIVATE_DEPENDS})
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(${target} PUBLIC slipway_${dependency})
  endforeach()

  set(common_headers ${CMAKE_CURRENT_SOURCE_DIR}/precompiled.h)
  slipway_precompile(${target} OWNER slipway_base HEADERS ${common_headers})

  if(tests AND SLIPWAY_TESTS)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${target} GTest::gmock GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE SLIPWAY_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
    slipway_precompile(${name}_test OWNER base_test HEADERS ${common_headers} <gmock/gmock.h> <gtest/gtest.h>)
    add_test(NAME ${name} COMMAND ${name}_test)
    # One entry a folder keeps ctest's table readable; the program itself runs every case.
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  endif()

  if(SLIPWAY_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      get_filename_component(fuzzer_name ${fuzzer} NAME_WE)
      add_executable(${fuzzer_name} ${fuzzer})
      target_link_libraries(${fuzzer_name} PRIVATE ${target})
      target_link_options(${fuzzer_name} PRIVATE -fsanitize=fuzzer)
      # A short run on every `make test`; `make soak` runs them longer.
      add_test(NAME fuzz.${fuzzer_name}
               COMMAND ${fuzzer_name} -max_total_time=3 -rss_limit_mb=2048 -timeout=10 -verbosity=0
                       -artifact_prefix=${CMAKE_BINARY_DIR}/)
      set_tests_properties(fuzz.${fuzzer_name} PROPERTIES TIMEOUT 120 LABELS fuzz)
    endforeach()
  endif()
endfunction()
