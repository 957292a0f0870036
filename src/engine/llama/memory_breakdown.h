// One function of llama.cpp that is exported but not in its public headers.
#pragma once

#include <llama.h>

#include <cstddef>
#include <map>

// As in llama.cpp's src/llama-ext.h, which is not installed; the prebuilt library and a source build both export it.
// The struct and the map must match it exactly: a test compares the sums with the known size of a model.
struct llama_memory_breakdown_data {
  std::size_t model = 0;    // bytes of weights
  std::size_t context = 0;  // bytes of the cache
  std::size_t compute = 0;  // bytes of temporary buffers
};

std::map<ggml_backend_buffer_type_t, llama_memory_breakdown_data> llama_get_memory_breakdown(
    const llama_context* context);
