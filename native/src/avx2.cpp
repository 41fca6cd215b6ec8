#include "portable.h"

#include "chunk.h"

namespace planezip {

const Level avx2_level = {"avx2", chunk_functions<Portable<16>>(), chunk_functions<Portable<32>>()};

}  // namespace planezip
