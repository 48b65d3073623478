# One precompiled header for all libraries (made with `base`) and one for all unit tests (made with `base_test`).
# Without the header's own absolute path, which CMake would add and ccache would hash.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)

function(slipway_precompile target)
  cmake_parse_arguments(ARG "" "OWNER" "HEADERS" ${ARGN})
  if(NOT target STREQUAL ARG_OWNER)
    target_precompile_headers(${target} REUSE_FROM ${ARG_OWNER})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  # ccache hashes this text (CCACHE_PCH_EXTSUM, set in CMakePresets.json) in place of the compiled header, which
  # holds the paths of its build folder: so builds in different folders share their results.
  foreach(header IN LISTS ARG_HEADERS)
    if(EXISTS ${header})
      file(SHA256 ${header} digest)
      string(APPEND digests "${digest}\n")
    else()
      string(APPEND digests "${header}\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum CONTENT "${digests}")
endfunction()
