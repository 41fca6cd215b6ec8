// Chunks of up to 32 blocks: the skeleton that every level fills with its stages.
//
// Stages<W> of a level is a struct of static functions, see portable.h. To write a chunk, all its
// blocks are sized, tags are chosen, and each block is written under its tag. To read one, all its
// blocks are parsed into the memory of their contents, then restored there.
#pragma once

#include "bdi.h"
#include "block.h"
#include "level.h"

namespace planezip {
namespace {

constexpr unsigned tag_bits(Codec codec) {
    return codec == Codec::planezip ? kPlanezipTagBits
           : codec == Codec::bdi    ? kBdiTagBits
                                    : kSingleTagBits;
}

// ---- sizing and choosing

// The tag with the fewest bits of the encodings asked for, the lowest of equals.
inline void choose(ChunkPlan& plan, unsigned encodings) {
    for (unsigned i = 0; i < kChunkBlocks; ++i) {
        plan.tags[i] = kRaw;
        plan.chosen_bits[i] = kBlockBits;
    }
    for (Tag tag : {kZvc, kDbx, kBx, kZbx}) {
        if (!(encodings & bit_of(tag))) continue;
        for (unsigned i = 0; i < kChunkBlocks; ++i) {
            const bool better = plan.bits[tag][i] < plan.chosen_bits[i];
            plan.tags[i] = better ? static_cast<uint8_t>(tag) : plan.tags[i];
            plan.chosen_bits[i] = better ? plan.bits[tag][i] : plan.chosen_bits[i];
        }
    }
}

template <class Stages>
inline void choose_bdi(const uint8_t* src, unsigned blocks, ChunkPlan& plan) {
    for (unsigned i = 0; i < blocks; ++i) {
        const unsigned tag = Stages::bdi_tag(src + i * kBlockBytes);
        plan.tags[i] = static_cast<uint8_t>(tag);
        plan.chosen_bits[i] = static_cast<uint16_t>(bdi_bits(tag));
    }
}

// Bits of the chosen blocks with their tags.
inline uint64_t total_bits(const ChunkPlan& plan, Codec codec, unsigned blocks) {
    uint64_t bits = blocks * tag_bits(codec);
    for (unsigned i = 0; i < blocks; ++i) bits += plan.chosen_bits[i];
    return bits;
}

template <class Stages>
size_t plan_chunk(Codec codec, const uint8_t* src, unsigned blocks, ChunkPlan& plan) {
    if (codec == Codec::bdi) {
        choose_bdi<Stages>(src, blocks, plan);
    } else {
        const unsigned encodings =
            codec == Codec::planezip ? kAllEncodings : bit_of(single_encoding(codec));
        Stages::size_blocks(src, blocks, encodings, plan);
        choose(plan, encodings);
    }
    return static_cast<size_t>(total_bits(plan, codec, blocks) + 7) / 8;
}

template <class Stages>
void size_chunk(const uint8_t* src, unsigned blocks, unsigned codecs, ChunkSizes& sizes) {
    const auto asked = [codecs](Codec codec) { return (codecs >> unsigned(codec) & 1) != 0; };
    ChunkPlan plan;
    const auto add = [&](Codec codec) {
        sizes.bits[unsigned(codec)] += total_bits(plan, codec, blocks);
    };
    constexpr Codec singles[] = {Codec::zvc, Codec::bpc, Codec::bx, Codec::zbx};
    unsigned encodings = asked(Codec::planezip) ? kAllEncodings : 0;
    for (Codec codec : singles) encodings |= asked(codec) ? bit_of(single_encoding(codec)) : 0;
    if (encodings) Stages::size_blocks(src, blocks, encodings, plan);
    for (Codec codec : singles) {
        if (!asked(codec)) continue;
        choose(plan, bit_of(single_encoding(codec)));
        add(codec);
    }
    if (asked(Codec::planezip)) {
        choose(plan, kAllEncodings);
        add(Codec::planezip);
        for (unsigned i = 0; i < blocks; ++i) ++sizes.tag_blocks[plan.tags[i]];
    }
    if (asked(Codec::bdi)) {
        choose_bdi<Stages>(src, blocks, plan);
        add(Codec::bdi);
    }
}

// ---- writing

template <class Stages>
size_t write_chunk(Codec codec, const uint8_t* src, unsigned blocks, const ChunkPlan& plan,
                   uint8_t* payload) {
    BitWriter out(payload);
    for (unsigned i = 0; i < blocks; ++i) {
        const uint8_t* block = src + i * kBlockBytes;
        const unsigned tag = plan.tags[i];
        if (codec == Codec::bdi) {
            out.put(tag, kBdiTagBits);
            write_bdi(out, tag, block);
        } else {
            const bool planezip = codec == Codec::planezip;
            out.put(planezip ? tag : tag != kRaw, planezip ? kPlanezipTagBits : kSingleTagBits);
            write_block<Stages>(out, static_cast<Tag>(tag), block,
                                classes_of(plan.classes[tag], i));
        }
    }
    out.finish();
    return static_cast<size_t>(out.next() - payload) + (out.filled() != 0);
}

// ---- reading

template <class Stages>
const char* read_chunk(Codec codec, const uint8_t* payload, size_t size, unsigned blocks,
                       uint8_t* dst, uint64_t* tag_blocks) {
    BitReader in(payload);
    const uint64_t end = 8 * static_cast<uint64_t>(size);
    Parsed<Stages::width> parsed[kChunkBlocks];
    for (unsigned i = 0; i < blocks; ++i) {
        auto tag = static_cast<unsigned>(in.get(tag_bits(codec)));
        uint8_t* block = dst + i * kBlockBytes;
        ++tag_blocks[tag];
        const char* fault;
        if (codec == Codec::bdi) {
            parsed[i].tag = kRaw;
            fault = read_bdi(in, tag, block);
        } else {
            if (codec != Codec::planezip && tag != kRaw) tag = single_encoding(codec);
            fault = parse_block<Stages>(in, tag, block, parsed[i]);
        }
        if (fault) return fault;
        if (in.bits() > end) return "a block goes past the end of its chunk";
    }
    if (end - in.bits() >= 8) return "a chunk has bytes behind its last block";
    if (end != in.bits() && in.get(static_cast<unsigned>(end - in.bits())) != 0) {
        return "the padding of a chunk is not zero";
    }
    for (unsigned i = 0; i < blocks; ++i) {
        restore_block<Stages>(parsed[i], dst + i * kBlockBytes);
    }
    return nullptr;
}

// The functions of a level with these stages, for one symbol width.
template <class Stages>
constexpr ChunkFunctions chunk_functions() {
    return {plan_chunk<Stages>, write_chunk<Stages>, read_chunk<Stages>, size_chunk<Stages>};
}

}  // namespace
}  // namespace planezip
