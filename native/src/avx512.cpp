#include "avx512.h"

#include "chunk.h"

namespace planezip {

const Level avx512_level = {"avx512", chunk_functions<Avx512<16>>(), chunk_functions<Avx512<32>>()};

}  // namespace planezip
