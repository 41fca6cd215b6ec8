// Sixteen bytes of symbols at once, in the compilers' portable vector extension, and counting the
// ones of each plane without transposing the symbols.
//
// Bit b of a lane belongs to plane b. An OR over all symbols says which planes have a one;
// saturating counters say which have two, and three.
#pragma once

#include "bits.h"
#include "format.h"

namespace planezip {
namespace {

template <unsigned W>
struct SymbolLanes {
    using Symbol = typename Width<W>::Symbol;
    using Plane = typename Width<W>::Plane;
    typedef Symbol Vector __attribute__((vector_size(16)));
    static constexpr unsigned count = 16 / sizeof(Symbol);
    static constexpr unsigned vectors = kBlockBytes / 16;
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

template <class Vector>
inline uint64_t half(const Vector& vector, unsigned i) {
    uint64_t halves[2];
    std::memcpy(halves, &vector, sizeof halves);
    return halves[i];
}

// Combines the lanes of a vector by `op`, which takes and returns words of several lanes.
template <unsigned W, class Op>
inline typename Width<W>::Symbol fold(const typename SymbolLanes<W>::Vector& vector, Op op) {
    uint64_t word = op(half(vector, 0), half(vector, 1));
    word = op(word, word >> 32);
    if (W == 16) word = op(word, word >> 16);
    return static_cast<typename Width<W>::Symbol>(word);
}

template <unsigned W>
inline typename Width<W>::Symbol fold_or(const typename SymbolLanes<W>::Vector& vector) {
    return fold<W>(vector, [](uint64_t a, uint64_t b) { return a | b; });
}

template <unsigned W>
inline typename Width<W>::Symbol fold_and(const typename SymbolLanes<W>::Vector& vector) {
    return fold<W>(vector, [](uint64_t a, uint64_t b) { return a & b; });
}

template <unsigned W>
inline typename Width<W>::Symbol fold_sum(const typename SymbolLanes<W>::Vector& vector) {
    return fold<W>(vector, [](uint64_t a, uint64_t b) { return a + b; });
}

template <unsigned W>
inline Ones<typename Width<W>::Symbol> fold(const Ones<typename SymbolLanes<W>::Vector>& ones) {
    Ones<uint64_t> words = {half(ones.one, 0), half(ones.two, 0), half(ones.three, 0)};
    words.add({half(ones.one, 1), half(ones.two, 1), half(ones.three, 1)});
    for (unsigned shift = 32; shift >= W; shift /= 2) {
        words.add({words.one >> shift, words.two >> shift, words.three >> shift});
    }
    using Symbol = typename Width<W>::Symbol;
    return {static_cast<Symbol>(words.one), static_cast<Symbol>(words.two),
            static_cast<Symbol>(words.three)};
}

}  // namespace
}  // namespace planezip
