// One 128-byte block under its tag: what the encodings put where. How planes are found and stored
// fast is up to the Stages of a level.
#pragma once

#include "plane_read.h"
#include "transforms.h"

namespace planezip {
namespace {

constexpr unsigned bit_of(Tag tag) { return 1u << tag; }
constexpr unsigned kAllEncodings = bit_of(kZvc) | bit_of(kDbx) | bit_of(kBx) | bit_of(kZbx);

// ---- writing; `classes` are those of the encoding's planes

template <class Stages>
inline void write_block(BitWriter& out, Tag tag, const uint8_t* block, PlaneClasses classes) {
    constexpr unsigned W = Stages::width, N = Width<W>::symbols;
    switch (tag) {
        case kRaw: return Stages::put_bytes(out, block, kBlockBytes);
        case kDbx:
            out.put(symbol_at<W>(block, 0), W);
            return Stages::write_delta_planes(out, block, classes);
        case kBx: return Stages::write_symbol_planes(out, block, classes);
        case kZvc:
        case kZbx: break;
    }
    const auto mask = Stages::nonzero_mask(block);
    out.put_long(mask, N);
    if (tag == kZvc) return Stages::put_survivors(out, block, mask);
    if (mask) Stages::write_survivor_planes(out, block, mask, classes);
}

// ---- reading

// What parsing a block leaves to restoring it, beside the 128 bytes at the block's place: these are
// the contents (raw), the survivors (ZVC), or the XORed planes from the top down (all else; of DBX
// without the signs).
template <unsigned W>
struct Parsed {
    unsigned tag;
    typename Width<W>::Symbol base;  // DBX: the first symbol
    typename Width<W>::Plane mask;   // ZVC, ZBX: of the symbols that are not zero
};

// Parses the block behind a tag; returns what is wrong, or null.
template <class Stages>
inline const char* parse_block(BitReader& in, unsigned tag, uint8_t* block,
                               Parsed<Stages::width>& parsed) {
    constexpr unsigned W = Stages::width, N = Width<W>::symbols;
    using Plane = typename Width<W>::Plane;
    parsed.tag = tag;
    switch (tag) {
        case kRaw: Stages::get_bytes(in, block, kBlockBytes); return nullptr;
        case kDbx:
            parsed.base = static_cast<typename Width<W>::Symbol>(in.get(W));
            return read_planes<Stages, W + 1>(in, block, N - 1);
        case kBx: return read_planes<Stages, W>(in, block, N);
        case kZvc:
        case kZbx: break;
        default: return "a block has a reserved tag";
    }
    parsed.mask = static_cast<Plane>(in.get_long(N));
    const unsigned survivors = popcount(parsed.mask);
    if (tag == kZvc) {
        Stages::get_bytes(in, block, survivors * (W / 8));
        return nullptr;
    }
    return survivors ? read_planes<Stages, W>(in, block, survivors) : nullptr;
}

// Turns what was parsed into the contents of the block.
template <class Stages>
inline void restore_block(const Parsed<Stages::width>& parsed, uint8_t* block) {
    switch (parsed.tag) {
        case kDbx: return Stages::restore_deltas(block, parsed.base);
        case kBx: return Stages::restore_symbols(block);
        case kZvc: return Stages::expand(block, parsed.mask);
        case kZbx: return Stages::restore_survivors(block, parsed.mask);
    }
}

}  // namespace
}  // namespace planezip
