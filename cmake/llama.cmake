# llama.cpp as two targets:
#   relaygen_llama_cpp     llama.h, ggml.h, gguf.h
#   relaygen_llama_common  common/chat.h (chat templates)
# RELAYGEN_LLAMA chooses where they come from: "prebuilt" (shared libraries from npm, one CPU library per
# micro-architecture), "source" (the pinned source, built here), or the path of a checkout of your own.

add_library(relaygen_llama_cpp INTERFACE)
add_library(relaygen_llama_common INTERFACE)

if(RELAYGEN_LLAMA STREQUAL "prebuilt")
  set(llama_source "${RELAYGEN_DEPS}/llama.cpp")
  set(llama_libs "${RELAYGEN_DEPS}/llama-prebuilt")
  foreach(file "${llama_source}/include/llama.h" "${llama_libs}/libllama.v0.4.0.so")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "llama.cpp is not there yet (${file} is missing): run scripts/fetch-llama first, or `make build`, which does it.")
    endif()
  endforeach()
  target_include_directories(relaygen_llama_cpp SYSTEM INTERFACE "${llama_source}/include" "${llama_source}/ggml/include")
  target_link_libraries(relaygen_llama_cpp INTERFACE "${llama_libs}/libllama.v0.4.0.so" "${llama_libs}/libggml.v0.4.0.so" "${llama_libs}/libggml-base.so")
  target_include_directories(relaygen_llama_common SYSTEM INTERFACE "${llama_source}/common" "${llama_source}/vendor")
  target_link_libraries(relaygen_llama_common INTERFACE relaygen_llama_cpp "${llama_libs}/libllama-common.so")
  set(CMAKE_BUILD_RPATH "${llama_libs}")
else()
  if(RELAYGEN_LLAMA STREQUAL "source")
    set(llama_source "${RELAYGEN_DEPS}/llama.cpp")
  else()
    get_filename_component(llama_source "${RELAYGEN_LLAMA}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  endif()
  if(NOT EXISTS "${llama_source}/include/llama.h")
    message(FATAL_ERROR "No llama.cpp source in ${llama_source}: give -DRELAYGEN_LLAMA=prebuilt, source, or the path of a checkout.")
  endif()
  set(BUILD_SHARED_LIBS OFF)
  set(GGML_OPENMP OFF CACHE BOOL "")
  set(LLAMA_BUILD_COMMON ON CACHE BOOL "")
  set(LLAMA_OPENSSL OFF CACHE BOOL "")
  set(LLAMA_BUILD_TESTS OFF CACHE BOOL "")
  set(LLAMA_BUILD_EXAMPLES OFF CACHE BOOL "")
  set(LLAMA_BUILD_SERVER ON CACHE BOOL "")    # llama-server, built only when asked for
  set(LLAMA_BUILD_TOOLS ON CACHE BOOL "")   # llama-bench and llama-perplexity, built only when asked for
  add_subdirectory("${llama_source}" llama.cpp EXCLUDE_FROM_ALL)
  # Named here as system folders as well: the compiler then keeps quiet about what is not ours.
  target_include_directories(relaygen_llama_cpp SYSTEM INTERFACE "${llama_source}/include" "${llama_source}/ggml/include")
  target_include_directories(relaygen_llama_common SYSTEM INTERFACE "${llama_source}/common" "${llama_source}/vendor")
  target_link_libraries(relaygen_llama_cpp INTERFACE llama)
  target_link_libraries(relaygen_llama_common INTERFACE llama-common llama)
endif()
