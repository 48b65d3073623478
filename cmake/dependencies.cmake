# Every C++ library Slipway stands on, with its reason. All come from Debian's packages (packaging/debian-packages.txt)
# and are linked statically, so that one file runs on another Linux machine; glibc alone stays dynamic.

set(Boost_USE_STATIC_LIBS ON)
set(OPENSSL_USE_STATIC_LIBS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

find_package(Threads REQUIRED)
# Asio and Beast: the HTTP server and client. JSON: every document on the wire. URL: parsing of targets.
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
# TLS, SHA-256, constant-time comparison.
find_package(OpenSSL 3 REQUIRED)
# The default metadata store.
find_library(SQLITE3_ARCHIVE NAMES libsqlite3.a REQUIRED)
# Job files and conda files. Its CMake package names the shared library, so the archive is asked for by name.
find_library(YAML_CPP_ARCHIVE NAMES libyaml-cpp.a REQUIRED)
# HTTP/2's frames, for gRPC.
find_library(NGHTTP2_ARCHIVE NAMES libnghttp2.a REQUIRED)
# Messages of gRPC that are compressed.
find_library(ZLIB_ARCHIVE NAMES libz.a REQUIRED)
# The command line. Header only.
find_package(CLI11 REQUIRED)
# Text formatting. Debian ships only the shared library; its own sources, in its headers, are built here instead.
find_package(fmt REQUIRED)
# Tests.
find_package(GTest REQUIRED)

add_library(fmt_static STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt_static.cc)
target_compile_features(fmt_static PUBLIC cxx_std_23)
target_include_directories(fmt_static SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

add_library(sqlite_static INTERFACE)
target_link_libraries(sqlite_static INTERFACE ${SQLITE3_ARCHIVE} m dl Threads::Threads)

add_library(yaml_static INTERFACE)
target_link_libraries(yaml_static INTERFACE ${YAML_CPP_ARCHIVE})

add_library(nghttp2_static INTERFACE)
target_link_libraries(nghttp2_static INTERFACE ${NGHTTP2_ARCHIVE})

add_library(zlib_static INTERFACE)
target_link_libraries(zlib_static INTERFACE ${ZLIB_ARCHIVE})
