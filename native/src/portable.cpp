#include "chunk.h"

namespace planezip {

const Level portable_level = {
    "portable",
    {encode_chunk<16>, decode_chunk<16>, size_chunk<16>},
    {encode_chunk<32>, decode_chunk<32>, size_chunk<32>},
};

const Level& level() { return portable_level; }

}  // namespace planezip
