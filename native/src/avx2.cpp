#include "avx2.h"

#include "chunk.h"

namespace planezip {

const Level avx2_level = {"avx2", chunk_functions<Avx2<16>>(), chunk_functions<Avx2<32>>()};

}  // namespace planezip
