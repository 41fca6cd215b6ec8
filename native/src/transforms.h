// What DBX and ZBX do to the symbols of a block before its planes are taken, and the way back.
#pragma once

#include "bits.h"
#include "format.h"

namespace planezip {
namespace {

template <unsigned W>
inline typename Width<W>::Symbol symbol_at(const uint8_t* block, unsigned j) {
    return load<typename Width<W>::Symbol>(block + j * (W / 8));
}

template <unsigned W>
inline void store_symbol(uint8_t* block, unsigned j, typename Width<W>::Symbol symbol) {
    store(block + j * (W / 8), symbol);
}

// deltas[j] = symbols[j + 1] - symbols[j] modulo 2^W; the last one is 0.
template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline void to_deltas(const uint8_t* block, Symbol* deltas) {
    constexpr unsigned last = Width<W>::symbols - 1;
    for (unsigned j = 0; j < last; ++j) {
        deltas[j] = static_cast<Symbol>(symbol_at<W>(block, j + 1) - symbol_at<W>(block, j));
    }
    deltas[last] = 0;
}

template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline void from_deltas(Symbol base, const Symbol* deltas, uint8_t* block) {
    store_symbol<W>(block, 0, base);
    for (unsigned j = 1; j < Width<W>::symbols; ++j) {
        base = static_cast<Symbol>(base + deltas[j - 1]);
        store_symbol<W>(block, j, base);
    }
}

// The signs of the (W + 1)-bit deltas: the borrows of the subtractions, from the top planes of the
// symbols and of the W-bit deltas.
template <class Plane>
inline Plane delta_signs(Plane symbols_top, Plane deltas_top, unsigned deltas) {
    const Plane minuend = symbols_top >> 1;
    const Plane subtrahend = symbols_top;
    const Plane borrow = (~minuend & subtrahend) | (~(minuend ^ subtrahend) & deltas_top);
    return borrow & low_bits<Plane>(deltas);
}

// Moves the symbols where the mask has ones to the front; returns how many there are.
template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline unsigned compact(const uint8_t* block, typename Width<W>::Plane mask, Symbol* survivors) {
    Symbol* next = survivors;
    for (; mask != 0; mask &= mask - 1) *next++ = symbol_at<W>(block, lowest_bit(mask));
    return static_cast<unsigned>(next - survivors);
}

// Puts the survivors back where the mask has ones, zeros elsewhere.
template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline void expand(const Symbol* survivors, typename Width<W>::Plane mask, uint8_t* block) {
    std::memset(block, 0, kBlockBytes);
    for (; mask != 0; mask &= mask - 1) store_symbol<W>(block, lowest_bit(mask), *survivors++);
}

}  // namespace
}  // namespace planezip
