// The sizes of all blocks of a chunk in AVX-512: first the classes of the planes of each block, as
// bit masks, then the sizes that follow, sixteen blocks at a time.
#pragma once

#include "avx512_lanes.h"
#include "block.h"
#include "level.h"

namespace planezip {
namespace {

// The classes of the planes of half a block: x XORed, d before the XOR, of `full` bits.
//
// Planes with a single one, or two and adjacent, are told by comparing x / 4 with the lowest one of
// x, which is greater.
template <unsigned W>
struct HalfMasks {
    using L = Lanes<W>;
    typename L::Mask nonzero, coded, verbatim;

    HalfMasks(Vector x, Vector d, Vector full) {
        const Vector lowest = _mm512_and_si512(x, L::sub(_mm512_setzero_si512(), x));
        nonzero = L::test(x, x);
        coded = L::test(L::differ(nonzero, x, full), d, d);
        verbatim = L::not_less(coded, L::shr(x, 2), lowest);
    }
};

// The same of the survivors, in place: `mask` has the symbols that are not zero. The next survivor
// above the lowest one of x is found by the borrow that runs up to it.
template <unsigned W>
struct SurvivorMasks {
    using L = Lanes<W>;
    typename L::Mask coded, verbatim;

    SurvivorMasks(Vector x, Vector d, Vector mask) {
        const Vector lowest = _mm512_and_si512(x, L::sub(_mm512_setzero_si512(), x));
        const Vector others = L::sub(_mm512_xor_si512(mask, lowest), lowest);
        coded = L::test(L::differ(L::test(x, x), x, mask), d, d);
        verbatim = L::test(coded, _mm512_xor_si512(x, lowest), others);
    }
};

// What the top plane of the differences adds to the sizes.
struct alignas(64) TopPlanes {
    uint32_t bits[kChunkBlocks];  // of its code, or of one zero plane if it is zero and alone
    uint32_t zero[kChunkBlocks];  // the bit of the plane below it, if it is zero
};

template <unsigned W>
inline void size_top_plane(typename Width<W>::Plane signs, uint32_t nonzero_below, unsigned i,
                           TopPlanes& tops) {
    constexpr unsigned deltas = Width<W>::symbols - 1;
    constexpr uint32_t below = uint32_t{1} << (W - 1);
    const bool full = signs == low_bits<typename Width<W>::Plane>(deltas);
    const unsigned bits = full                  ? kLongCodeBits
                          : one_or_pair(signs) ? kLongCodeBits + field_bits(deltas)
                                               : 1 + deltas;
    const unsigned zero_bits = nonzero_below & below ? kZeroCodeBits : 0;
    tops.bits[i] = signs == 0 ? zero_bits : bits;
    tops.zero[i] = signs == 0 ? below : 0;
}

// Sizes under the plane code, sixteen blocks from `first` on, whose planes have `width` bits and
// positions `field`. `zero_above` has the bit of the top plane if one above it is zero.
template <unsigned W>
inline Vector plane_code_sizes(const ChunkClasses& classes, unsigned first, Vector width, Vector field,
                               Vector zero_above, unsigned run_bits) {
    const auto at = [first](const uint32_t* masks) { return _mm512_load_si512(masks + first); };
    const auto times = [](Vector masks, Vector bits) {
        return _mm512_mullo_epi32(_mm512_popcnt_epi32(masks), bits);
    };
    const auto bits = [](unsigned count) { return _mm512_set1_epi32(static_cast<int>(count)); };
    const Vector nonzero = at(classes.nonzero);
    const Vector zero = _mm512_andnot_si512(nonzero, bits(low_bits<uint32_t>(W)));
    const Vector starts = _mm512_andnot_si512(_mm512_slli_epi32(zero, 1), zero);
    const Vector above = _mm512_or_si512(_mm512_srli_epi32(zero, 1), zero_above);
    const Vector alone = _mm512_andnot_si512(above, starts);
    // A verbatim plane counts in all three terms, one with a position in two.
    const Vector verbatim = _mm512_sub_epi32(_mm512_sub_epi32(width, field), bits(4));
    const Vector planes = _mm512_add_epi32(
        times(nonzero, bits(kLongCodeBits)),
        _mm512_add_epi32(times(at(classes.coded), field), times(at(classes.verbatim), verbatim)));
    return _mm512_add_epi32(
        planes, _mm512_sub_epi32(times(starts, bits(run_bits)),
                                 times(alone, bits(run_bits - kZeroCodeBits))));
}

// bits(n) of docs/format.md, for 1 <= n <= 64.
inline Vector field_bits(Vector n) {
    return _mm512_sub_epi32(_mm512_set1_epi32(32),
                            _mm512_lzcnt_epi32(_mm512_sub_epi32(n, _mm512_set1_epi32(1))));
}

// Finds the classes of the planes of blocks under the encodings asked for, then their sizes.
template <unsigned W>
struct ChunkSizer {
    static constexpr unsigned N = Width<W>::symbols;
    static constexpr unsigned run_bits = kRunCodeBits + planezip::field_bits(W - 1);
    static_assert(planezip::field_bits(W - 1) == planezip::field_bits(W));

    ChunkPlan& plan;
    TopPlanes tops;
    alignas(64) uint32_t survivors[kChunkBlocks];

    explicit ChunkSizer(ChunkPlan& into) : plan(into) {}

    void classify(const uint8_t* block, unsigned i, bool deltas, bool survivor_planes) {
        using L = Lanes<W>;
        const Pair symbols = load_pair(block);
        const Pair d = symbols_to_planes<W>(symbols);
        const Pair x = xor_planes<W>(d, _mm512_setzero_si512());
        const auto mask = nonzero_symbols<W>(symbols);
        survivors[i] = popcount(mask);
        keep(kBx, i, HalfMasks<W>(x.low, d.low, L::set(low_bits<typename Width<W>::Plane>(N))),
             HalfMasks<W>(x.high, d.high, L::set(low_bits<typename Width<W>::Plane>(N))));
        if (survivor_planes) {
            const Vector all = L::set(mask);
            const SurvivorMasks<W> low(x.low, d.low, all), high(x.high, d.high, all);
            plan.classes[kZbx].nonzero[i] = plan.classes[kBx].nonzero[i];
            plan.classes[kZbx].coded[i] = L::join(high.coded, low.coded);
            plan.classes[kZbx].verbatim[i] = L::join(high.verbatim, low.verbatim);
        }
        if (deltas) classify_deltas(block, i, symbols);
    }

    void classify_deltas(const uint8_t* block, unsigned i, const Pair& symbols) {
        using L = Lanes<W>;
        typename Width<W>::Plane signs;
        const Pair d = symbols_to_planes<W>(to_deltas<W>(block, symbols, signs));
        const Pair x = xor_planes<W>(d, L::first(signs));
        const Vector full = L::set(low_bits<typename Width<W>::Plane>(N - 1));
        keep(kDbx, i, HalfMasks<W>(x.low, d.low, full), HalfMasks<W>(x.high, d.high, full));
        size_top_plane<W>(signs, plan.classes[kDbx].nonzero[i], i, tops);
    }

    void keep(Tag tag, unsigned i, const HalfMasks<W>& low, const HalfMasks<W>& high) {
        using L = Lanes<W>;
        plan.classes[tag].nonzero[i] = L::join(high.nonzero, low.nonzero);
        plan.classes[tag].coded[i] = L::join(high.coded, low.coded);
        plan.classes[tag].verbatim[i] = L::join(high.verbatim, low.verbatim);
    }

    void size(unsigned encodings) const {
        for (unsigned first = 0; first < kChunkBlocks; first += 16) size16(first, encodings);
    }

private:
    void size16(unsigned first, unsigned encodings) const {
        const auto number = [](unsigned x) { return _mm512_set1_epi32(static_cast<int>(x)); };
        const auto set = [&](Tag tag, Vector bits) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(plan.bits[tag] + first),
                                _mm512_cvtepi32_epi16(bits));
        };
        const Vector none = _mm512_setzero_si512();
        const Vector n = _mm512_load_si512(survivors + first);
        set(kZvc, _mm512_add_epi32(number(N), _mm512_mullo_epi32(n, number(W))));
        set(kBx, plane_code_sizes<W>(plan.classes[kBx], first, number(N), number(planezip::field_bits(N)),
                                     none, run_bits));
        if (encodings & bit_of(kZbx)) {
            const Vector planes =
                plane_code_sizes<W>(plan.classes[kZbx], first, n, field_bits(n), none, run_bits);
            const __mmask16 any = _mm512_test_epi32_mask(n, n);
            set(kZbx, _mm512_add_epi32(number(N), _mm512_maskz_mov_epi32(any, planes)));
        }
        if (encodings & bit_of(kDbx)) {
            const Vector planes = plane_code_sizes<W>(
                plan.classes[kDbx], first, number(N - 1), number(planezip::field_bits(N - 1)),
                _mm512_load_si512(tops.zero + first), run_bits);
            const Vector top = _mm512_load_si512(tops.bits + first);
            set(kDbx, _mm512_add_epi32(_mm512_add_epi32(number(W), planes), top));
        }
    }
};

}  // namespace
}  // namespace planezip
