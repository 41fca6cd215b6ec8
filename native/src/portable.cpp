#include "portable.h"

#include "chunk.h"

namespace planezip {

const Level portable_level = {"portable", chunk_functions<Portable<16>>(),
                              chunk_functions<Portable<32>>()};

}  // namespace planezip
