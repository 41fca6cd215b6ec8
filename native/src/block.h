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
    if (found.survivors == N) {
        sizes.bits[kZbx] = N + sizes.bits[kBx];  // nothing to remove: the planes of BX
    } else {
        sizes.bits[kZbx] = N;
        if (found.survivors) {
            sizes.bits[kZbx] += plane_code_bits<W>(survivor_classes<W>(block, found), found.survivors);
        }
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
    uint64_t mask = 0;
    for (unsigned j = 0; j < N; ++j) mask |= uint64_t{symbol_at<W>(block, j) != 0} << j;
    const unsigned count = compact<W>(block, survivors);
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

// ---- reading

template <unsigned W>
inline const char* read_dbx(BitReader& in, typename Width<W>::Symbol* symbols) {
    constexpr unsigned N = Width<W>::symbols;
    typename Width<W>::Plane planes[W + 2];
    typename Width<W>::Symbol deltas[N];
    const auto base = static_cast<typename Width<W>::Symbol>(in.get(W));
    if (const char* fault = read_planes<W + 1>(in, planes, N - 1)) return fault;
    planes_to_symbols(planes, deltas);
    from_deltas<W>(base, deltas, symbols);
    return nullptr;
}

template <unsigned W>
inline const char* read_bx(BitReader& in, unsigned width, typename Width<W>::Symbol* symbols) {
    typename Width<W>::Plane planes[W + 1];
    if (const char* fault = read_planes<W>(in, planes, width)) return fault;
    planes_to_symbols(planes, symbols);
    return nullptr;
}

// ZVC and ZBX: the mask, then the survivors in either form.
template <unsigned W>
inline const char* read_masked(BitReader& in, bool verbatim, typename Width<W>::Symbol* symbols) {
    constexpr unsigned N = Width<W>::symbols;
    typename Width<W>::Symbol survivors[N + 1];  // expand() may look at one past the last
    const auto mask = static_cast<typename Width<W>::Plane>(in.get_long(N));
    const unsigned count = popcount(mask);
    if (verbatim) {
        for (unsigned i = 0; i < count; ++i) {
            survivors[i] = static_cast<typename Width<W>::Symbol>(in.get(W));
        }
    } else if (count) {
        if (const char* fault = read_bx<W>(in, count, survivors)) return fault;
    }
    survivors[count] = 0;
    expand<W>(survivors, mask, symbols);
    return nullptr;
}

// Reads the block behind a tag; returns what is wrong, or null.
template <unsigned W>
inline const char* read_block(BitReader& in, unsigned tag, uint8_t* block) {
    alignas(64) typename Width<W>::Symbol symbols[Width<W>::symbols];
    const char* fault = nullptr;
    switch (tag) {
        case kRaw:
            in.get_bytes(block, kBlockBytes);
            return nullptr;
        case kDbx:
            fault = read_dbx<W>(in, symbols);
            break;
        case kBx:
            fault = read_bx<W>(in, Width<W>::symbols, symbols);
            break;
        case kZvc:
        case kZbx:
            fault = read_masked<W>(in, tag == kZvc, symbols);
            break;
        default:
            return "a block has a reserved tag";
    }
    if (!fault) std::memcpy(block, symbols, kBlockBytes);
    return fault;
}

}  // namespace
}  // namespace planezip
