// One 128-byte block under the encodings ZVC, DBX, BX and ZBX: sizes, writers and readers.
#pragma once

#include "classify.h"
#include "transpose.h"

namespace planezip {
namespace {

constexpr unsigned bit_of(Tag tag) { return 1u << tag; }
constexpr unsigned kAllEncodings = bit_of(kZvc) | bit_of(kDbx) | bit_of(kBx) | bit_of(kZbx);

// The size of a block under each encoding.
struct BlockSizes {
    unsigned survivors;        // non-zero symbols
    unsigned bits[kEncoders];  // by tag, without the tag; of those asked for

    // The tag of the smallest; the lowest of equals.
    Tag smallest() const {
        Tag best = kRaw;
        for (Tag tag : {kZvc, kDbx, kBx, kZbx}) {
            if (bits[tag] < bits[best]) best = tag;
        }
        return best;
    }
};

// Sizes a block under raw, ZVC and the encodings whose bit_of(tag) is set in `encodings`. Reads
// kSourceSlack bytes beyond the block.
template <unsigned W>
inline BlockSizes size_block(const uint8_t* block, unsigned encodings) {
    constexpr unsigned N = Width<W>::symbols;
    BlockSizes sizes;
    sizes.bits[kRaw] = kBlockBits;
    if (encodings & bit_of(kDbx)) {
        sizes.bits[kDbx] = W + plane_code_bits<W + 1>(delta_classes<W>(block), N - 1);
    }
    const SymbolCounts<W> found = count_symbols<W>(block);
    sizes.survivors = found.survivors;
    sizes.bits[kZvc] = N + W * found.survivors;
    if (encodings & (bit_of(kBx) | bit_of(kZbx))) {
        sizes.bits[kBx] = plane_code_bits<W>(found.planes.classes(), N);
    }
    if (!(encodings & bit_of(kZbx))) return sizes;
    sizes.bits[kZbx] = N;
    if (found.survivors == N) {
        sizes.bits[kZbx] += sizes.bits[kBx];  // nothing to remove: the planes of BX
    } else if (found.survivors) {
        const PlaneClasses planes = survivor_classes<W>(block, found);
        sizes.bits[kZbx] += plane_code_bits<W>(planes, found.survivors);
    }
    return sizes;
}

// ---- writing

template <unsigned W>
inline void write_dbx(BitWriter& out, const uint8_t* block) {
    using Plane = typename Width<W>::Plane;
    constexpr unsigned deltas = Width<W>::symbols - 1;
    typename Width<W>::Symbol delta[deltas + 1];
    Plane planes[W + 2], symbol_planes[W];
    to_deltas<W>(block, delta);
    symbols_to_planes(delta, planes);
    symbols_to_planes(block, symbol_planes);
    planes[W] = delta_signs(symbol_planes[W - 1], planes[W - 1], deltas);
    planes[W + 1] = 0;
    out.put(symbol_at<W>(block, 0), W);
    write_planes<W + 1>(out, planes, deltas);
}

template <unsigned W>
inline void write_bx(BitWriter& out, const void* symbols, unsigned width) {
    typename Width<W>::Plane planes[W + 1];
    symbols_to_planes(symbols, planes);
    planes[W] = 0;
    write_planes<W>(out, planes, width);
}

// ZVC and ZBX: the mask, then the survivors in either form.
template <unsigned W>
inline void write_masked(BitWriter& out, bool verbatim, const uint8_t* block) {
    constexpr unsigned N = Width<W>::symbols;
    typename Width<W>::Symbol survivors[N];
    const auto mask = nonzero_mask<W>(block);
    const unsigned count = compact<W>(block, mask, survivors);
    std::memset(survivors + count, 0, (N - count) * sizeof *survivors);
    out.put_long(mask, N);
    if (verbatim) {
        out.put_bytes(reinterpret_cast<const uint8_t*>(survivors), count * (W / 8));
    } else if (count) {
        write_bx<W>(out, survivors, count);
    }
}

template <unsigned W>
inline void write_block(BitWriter& out, Tag tag, const uint8_t* block) {
    switch (tag) {
        case kRaw: return out.put_bytes(block, kBlockBytes);
        case kDbx: return write_dbx<W>(out, block);
        case kBx: return write_bx<W>(out, block, Width<W>::symbols);
        case kZvc:
        case kZbx: return write_masked<W>(out, tag == kZvc, block);
    }
}

// ---- reading: each returns what is wrong, or null

template <unsigned W>
inline const char* read_dbx(BitReader& in, uint8_t* block) {
    using Symbol = typename Width<W>::Symbol;
    constexpr unsigned deltas = Width<W>::symbols - 1;
    typename Width<W>::Plane planes[W + 1];
    Symbol delta[deltas + 1];
    const auto base = static_cast<Symbol>(in.get(W));
    if (const char* fault = read_planes<W + 1>(in, planes, deltas)) return fault;
    planes_to_symbols(planes, delta);
    from_deltas<W>(base, delta, block);
    return nullptr;
}

template <unsigned W>
inline const char* read_bx(BitReader& in, unsigned width, void* symbols) {
    typename Width<W>::Plane planes[W];
    if (const char* fault = read_planes<W>(in, planes, width)) return fault;
    planes_to_symbols(planes, symbols);
    return nullptr;
}

// ZVC and ZBX: the mask, then the survivors in either form.
template <unsigned W>
inline const char* read_masked(BitReader& in, bool verbatim, uint8_t* block) {
    using Symbol = typename Width<W>::Symbol;
    constexpr unsigned N = Width<W>::symbols;
    Symbol survivors[N];
    const auto mask = static_cast<typename Width<W>::Plane>(in.get_long(N));
    const unsigned count = popcount(mask);
    if (verbatim) {
        for (unsigned i = 0; i < count; ++i) survivors[i] = static_cast<Symbol>(in.get(W));
    } else if (count) {
        if (const char* fault = read_bx<W>(in, count, survivors)) return fault;
    }
    expand<W>(survivors, mask, block);
    return nullptr;
}

// Reads the block behind a tag.
template <unsigned W>
inline const char* read_block(BitReader& in, unsigned tag, uint8_t* block) {
    switch (tag) {
        case kRaw: in.get_bytes(block, kBlockBytes); return nullptr;
        case kDbx: return read_dbx<W>(in, block);
        case kBx: return read_bx<W>(in, Width<W>::symbols, block);
        case kZvc:
        case kZbx: return read_masked<W>(in, tag == kZvc, block);
    }
    return "a block has a reserved tag";
}

}  // namespace
}  // namespace planezip
