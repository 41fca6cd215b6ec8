// Many symbols at once, in the compilers' portable vector extension, and counting the ones of each
// plane without transposing the symbols.
//
// Bit b of a lane belongs to plane b. An OR over all symbols says which planes have a one;
// saturating counters say which have two, and three.
#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "bits.h"
#include "format.h"

namespace planezip {
namespace {

#ifdef __AVX2__
constexpr unsigned kVectorBytes = 32;
#else
constexpr unsigned kVectorBytes = 16;
#endif

template <unsigned W>
struct SymbolLanes {
    using Symbol = typename Width<W>::Symbol;
    using Plane = typename Width<W>::Plane;
    typedef Symbol Vector __attribute__((vector_size(kVectorBytes)));
    static constexpr unsigned count = kVectorBytes / sizeof(Symbol);
    static constexpr unsigned vectors = kBlockBytes / kVectorBytes;
};

// All ones but the last `cleared` lanes.
template <unsigned W>
inline typename SymbolLanes<W>::Vector clear_last(unsigned cleared) {
    typename SymbolLanes<W>::Vector mask = {};
    for (unsigned i = 0; i < SymbolLanes<W>::count; ++i) {
        mask[i] = static_cast<typename SymbolLanes<W>::Symbol>(i + cleared < SymbolLanes<W>::count ? -1 : 0);
    }
    return mask;
}

// Saturating counts of ones, for every bit of Word: at least one, two, three.
template <class Word>
struct Ones {
    Word one = {}, two = {}, three = {};

    void add(Word bits) {
        three |= two & bits;
        two |= one & bits;
        one |= bits;
    }

    void add(const Ones& other) {
        three |= other.three | (two & other.one) | (one & other.two);
        two |= other.two | (one & other.one);
        one |= other.one;
    }
};

// Two words that hold the lanes of half a vector, or of a whole one.
typedef uint64_t TwoWords __attribute__((vector_size(16)));

template <class Vector>
inline TwoWords half(const Vector& vector, unsigned i) {
    TwoWords halves[sizeof vector / sizeof(TwoWords)];
    std::memcpy(halves, &vector, sizeof halves);
    return halves[i];
}

inline TwoWords swapped(const TwoWords& words) { return TwoWords{words[1], words[0]}; }

// Combines all lanes of a vector by `op`, which takes and returns words of several lanes.
template <unsigned W, class Op>
inline typename Width<W>::Symbol fold(const typename SymbolLanes<W>::Vector& vector, Op op) {
    TwoWords words = half(vector, 0);
    if (kVectorBytes == 32) words = op(words, half(vector, kVectorBytes / 32));
    words = op(words, swapped(words));
    words = op(words, words >> 32);
    if (W == 16) words = op(words, words >> 16);
    return static_cast<typename Width<W>::Symbol>(words[0]);
}

template <unsigned W>
inline typename Width<W>::Symbol fold_or(const typename SymbolLanes<W>::Vector& vector) {
    return fold<W>(vector, [](const TwoWords& a, const TwoWords& b) { return a | b; });
}

template <unsigned W>
inline typename Width<W>::Symbol fold_and(const typename SymbolLanes<W>::Vector& vector) {
    return fold<W>(vector, [](const TwoWords& a, const TwoWords& b) { return a & b; });
}

template <unsigned W>
inline Ones<typename Width<W>::Symbol> fold(const Ones<typename SymbolLanes<W>::Vector>& ones) {
    using Symbol = typename Width<W>::Symbol;
    constexpr unsigned last = kVectorBytes / 32;
    Ones<TwoWords> words = {half(ones.one, 0), half(ones.two, 0), half(ones.three, 0)};
    if (last) words.add({half(ones.one, last), half(ones.two, last), half(ones.three, last)});
    words.add({swapped(words.one), swapped(words.two), swapped(words.three)});
    words.add({words.one >> 32, words.two >> 32, words.three >> 32});
    if (W == 16) words.add({words.one >> 16, words.two >> 16, words.three >> 16});
    return {static_cast<Symbol>(words.one[0]), static_cast<Symbol>(words.two[0]),
            static_cast<Symbol>(words.three[0])};
}

#ifdef __AVX2__

inline uint32_t movemask(__m256i bytes) { return static_cast<uint32_t>(_mm256_movemask_epi8(bytes)); }

// The top bits of all lanes of a block.
template <unsigned W>
inline typename Width<W>::Plane top_bits(const typename SymbolLanes<W>::Vector* block) {
    const auto vector = [block](unsigned i) { return (__m256i)block[i]; };
    uint64_t plane = 0;
    for (unsigned i = 0; i < 4; i += W == 16 ? 2 : 1) {
        if (W == 16) {
            const __m256i packed = _mm256_packs_epi16(vector(i), vector(i + 1));
            plane |= uint64_t{movemask(_mm256_permute4x64_epi64(packed, 0xD8))} << 16 * i;
        } else {
            const int eight = _mm256_movemask_ps(_mm256_castsi256_ps(vector(i)));
            plane |= static_cast<uint64_t>(static_cast<unsigned>(eight)) << 8 * i;
        }
    }
    return static_cast<typename Width<W>::Plane>(plane);
}

#else

// The top bits of all lanes of a block. W of them are collected in a vector: in lane i, the bits i,
// i + L::count, ... of the plane, all at distances of L::count.
template <unsigned W>
inline typename Width<W>::Plane top_bits(const typename SymbolLanes<W>::Vector* block) {
    using L = SymbolLanes<W>;
    constexpr unsigned parts = Width<W>::symbols / W, per_part = L::vectors / parts;
    typename L::Vector weights = {};
    for (unsigned i = 0; i < L::count; ++i) weights[i] = 1u << i;
    typename L::Plane plane = 0;
    for (unsigned p = 0; p < parts; ++p) {
        typename L::Vector part = {};
        for (unsigned k = 0; k < per_part; ++k) {
            part |= block[p * per_part + k] >> (W - 1) << k * L::count;
        }
        plane |= typename L::Plane{fold_or<W>(part * weights)} << p * W;
    }
    return plane;
}

#endif

}  // namespace
}  // namespace planezip
