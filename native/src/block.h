// One 128-byte block under the encodings ZVC, DBX, BX and ZBX: sizes, writers and readers.
#pragma once

#include "plane_code.h"
#include "transforms.h"
#include "transpose.h"

namespace planezip {
namespace {

constexpr unsigned bit_of(Tag tag) { return 1u << tag; }
constexpr unsigned kAllEncodings = bit_of(kZvc) | bit_of(kDbx) | bit_of(kBx) | bit_of(kZbx);

// What sizing a block finds out, kept so that the winner can be written without doing it again.
template <unsigned W>
struct Analysis {
    using Symbol = typename Width<W>::Symbol;
    using Plane = typename Width<W>::Plane;
    static constexpr unsigned N = Width<W>::symbols;

    alignas(64) Symbol symbols[N];
    alignas(64) Symbol survivors[N];  // set if ZBX was asked for and the block has zeros
    alignas(64) Plane bx[W + 1];      // planes of the symbols, and the zero above them
    alignas(64) Plane dbx[W + 2];     // planes of the deltas
    alignas(64) Plane zbx[W + 1];     // planes of the survivors, like `survivors`
    Plane mask;                       // non-zero symbols
    unsigned count;                   // ones in the mask
    unsigned bits[kEncoders];         // by tag, of the encodings asked for

    bool dense() const { return count == N; }
};

template <unsigned W>
inline void size_dbx(Analysis<W>& a) {
    constexpr unsigned deltas = Width<W>::symbols - 1;
    typename Width<W>::Symbol delta[Width<W>::symbols];
    to_deltas<W>(a.symbols, delta);
    symbols_to_planes(delta, a.dbx);
    a.dbx[W] = delta_signs(a.bx[W - 1], a.dbx[W - 1], deltas);
    a.dbx[W + 1] = 0;
    a.bits[kDbx] = W + plane_code_bits<W + 1>(a.dbx, deltas);
}

template <unsigned W>
inline void size_zbx(Analysis<W>& a) {
    compact<W>(a.symbols, a.survivors);
    symbols_to_planes(a.survivors, a.zbx);
    a.zbx[W] = 0;
    a.bits[kZbx] = Width<W>::symbols + (a.count ? plane_code_bits<W>(a.zbx, a.count) : 0);
}

// Sizes `block` under the encodings whose bit_of(tag) is set in `encodings`.
template <unsigned W>
inline void analyse(const uint8_t* block, unsigned encodings, Analysis<W>& a) {
    constexpr unsigned N = Width<W>::symbols;
    std::memcpy(a.symbols, block, kBlockBytes);
    symbols_to_planes(a.symbols, a.bx);
    a.bx[W] = 0;
    a.mask = 0;
    for (unsigned b = 0; b < W; ++b) a.mask |= a.bx[b];
    a.count = popcount(a.mask);
    a.bits[kRaw] = kBlockBits;
    a.bits[kZvc] = N + W * a.count;
    if (encodings & bit_of(kDbx)) size_dbx(a);
    if (encodings & (bit_of(kBx) | bit_of(kZbx))) a.bits[kBx] = plane_code_bits<W>(a.bx, N);
    if (encodings & bit_of(kZbx)) {
        if (a.dense()) {
            a.bits[kZbx] = N + a.bits[kBx];  // nothing to remove: the planes of BX
        } else {
            size_zbx(a);
        }
    }
}

// The tag of the smallest; the lowest of equals.
template <unsigned W>
inline Tag smallest(const Analysis<W>& a) {
    Tag best = kRaw;
    for (Tag tag : {kZvc, kDbx, kBx, kZbx}) {
        if (a.bits[tag] < a.bits[best]) best = tag;
    }
    return best;
}

template <unsigned W>
inline void write_zvc(BitWriter& out, Analysis<W>& a) {
    if (a.dense()) std::memcpy(a.survivors, a.symbols, kBlockBytes);
    else compact<W>(a.symbols, a.survivors);
    out.put_long(a.mask, Width<W>::symbols);
    out.put_bytes(reinterpret_cast<const uint8_t*>(a.survivors), a.count * (W / 8));
}

template <unsigned W>
inline void write_block(BitWriter& out, Tag tag, Analysis<W>& a) {
    constexpr unsigned N = Width<W>::symbols;
    switch (tag) {
        case kRaw:
            return out.put_bytes(reinterpret_cast<const uint8_t*>(a.symbols), kBlockBytes);
        case kZvc:
            return write_zvc(out, a);
        case kDbx:
            out.put(a.symbols[0], W);
            return write_planes<W + 1>(out, a.dbx, N - 1);
        case kBx:
            return write_planes<W>(out, a.bx, N);
        case kZbx:
            out.put_long(a.mask, N);
            if (a.count) write_planes<W>(out, a.dense() ? a.bx : a.zbx, a.count);
    }
}

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
