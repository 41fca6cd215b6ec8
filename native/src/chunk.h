// Chunks of up to 32 blocks: the skeleton that a level instantiates.
#pragma once

#include "bdi.h"
#include "block.h"
#include "level.h"

namespace planezip {
namespace {

// ---- writing

template <unsigned W>
inline void write_planezip(BitWriter& out, const uint8_t* block) {
    const Tag tag = size_block<W>(block, kAllEncodings).smallest();
    out.put(tag, kPlanezipTagBits);
    write_block<W>(out, tag, block);
}

template <unsigned W>
inline void write_single(BitWriter& out, Tag encoding, const uint8_t* block) {
    const bool encoded = size_block<W>(block, bit_of(encoding)).bits[encoding] < kBlockBits;
    out.put(encoded, kSingleTagBits);
    write_block<W>(out, encoded ? encoding : kRaw, block);
}

inline void write_bdi_tagged(BitWriter& out, const uint8_t* block) {
    const unsigned tag = bdi_tag(block);
    out.put(tag, kBdiTagBits);
    write_bdi(out, tag, block);
}

template <unsigned W>
size_t encode_chunk(Codec codec, const uint8_t* src, unsigned blocks, uint8_t* payload) {
    BitWriter out(payload);
    for (unsigned i = 0; i < blocks; ++i) {
        const uint8_t* block = src + i * kBlockBytes;
        switch (codec) {
            case Codec::planezip: write_planezip<W>(out, block); break;
            case Codec::bdi: write_bdi_tagged(out, block); break;
            default: write_single<W>(out, single_encoding(codec), block);
        }
    }
    return out.finish();
}

// ---- reading

constexpr unsigned tag_bits(Codec codec) {
    return codec == Codec::planezip ? kPlanezipTagBits
           : codec == Codec::bdi    ? kBdiTagBits
                                    : kSingleTagBits;
}

// Reads one block, tag included, and counts it; returns what is wrong, or null.
template <unsigned W>
inline const char* read_tagged(BitReader& in, Codec codec, uint8_t* block, uint64_t* tag_blocks) {
    const auto tag = static_cast<unsigned>(in.get(tag_bits(codec)));
    ++tag_blocks[tag];
    if (codec == Codec::bdi) return read_bdi(in, tag, block);
    if (codec == Codec::planezip || tag == kRaw) return read_block<W>(in, tag, block);
    return read_block<W>(in, single_encoding(codec), block);
}

template <unsigned W>
const char* decode_chunk(Codec codec, const uint8_t* payload, size_t size, unsigned blocks,
                         uint8_t* dst, uint64_t* tag_blocks) {
    BitReader in(payload);
    const uint64_t end = 8 * static_cast<uint64_t>(size);
    for (unsigned i = 0; i < blocks; ++i) {
        if (const char* fault = read_tagged<W>(in, codec, dst + i * kBlockBytes, tag_blocks)) {
            return fault;
        }
        if (in.bits() > end) return "a block goes past the end of its chunk";
    }
    if (end - in.bits() >= 8) return "a chunk has bytes behind its last block";
    if (end != in.bits() && in.get(static_cast<unsigned>(end - in.bits())) != 0) {
        return "the padding of a chunk is not zero";
    }
    return nullptr;
}

// ---- sizing

template <unsigned W>
inline void add_block_sizes(const uint8_t* block, unsigned codecs, ChunkSizes& sizes) {
    const auto asked = [codecs](Codec codec) { return (codecs >> unsigned(codec) & 1) != 0; };
    const bool all = asked(Codec::planezip);
    unsigned encodings = all ? kAllEncodings : 0;
    for (Codec codec : {Codec::zvc, Codec::bpc, Codec::bx, Codec::zbx}) {
        if (asked(codec)) encodings |= bit_of(single_encoding(codec));
    }
    if (encodings) {
        const BlockSizes found = size_block<W>(block, encodings);
        for (Codec codec : {Codec::zvc, Codec::bpc, Codec::bx, Codec::zbx}) {
            const unsigned bits = asked(codec) ? found.bits[single_encoding(codec)] : 0;
            sizes.bits[unsigned(codec)] += kSingleTagBits + (bits < kBlockBits ? bits : kBlockBits);
        }
        if (all) {
            const Tag tag = found.smallest();
            ++sizes.tag_blocks[tag];
            sizes.bits[unsigned(Codec::planezip)] += kPlanezipTagBits + found.bits[tag];
        }
    }
    if (asked(Codec::bdi)) {
        sizes.bits[unsigned(Codec::bdi)] += kBdiTagBits + bdi_bits(bdi_tag(block));
    }
}

template <unsigned W>
void size_chunk(const uint8_t* src, unsigned blocks, unsigned codecs, ChunkSizes& sizes) {
    for (unsigned i = 0; i < blocks; ++i) {
        add_block_sizes<W>(src + i * kBlockBytes, codecs, sizes);
    }
}

}  // namespace
}  // namespace planezip
