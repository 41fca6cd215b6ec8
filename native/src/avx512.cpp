#include "portable.h"

#include "chunk.h"

namespace planezip {

const Level avx512_level = {"avx512", chunk_functions<Portable<16>>(), chunk_functions<Portable<32>>()};

}  // namespace planezip
