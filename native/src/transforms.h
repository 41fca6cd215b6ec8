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
inline void from_deltas(Symbol base, const Symbol* deltas, Symbol* symbols) {
    symbols[0] = base;
    for (unsigned j = 1; j < Width<W>::symbols; ++j) {
        symbols[j] = static_cast<Symbol>(symbols[j - 1] + deltas[j - 1]);
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

// Moves the non-zero symbols to the front, zeros behind them; returns how many there are.
template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline unsigned compact(const uint8_t* block, Symbol* survivors) {
    unsigned count = 0;
    for (unsigned j = 0; j < Width<W>::symbols; ++j) {
        const Symbol symbol = symbol_at<W>(block, j);
        survivors[count] = symbol;
        count += symbol != 0;
    }
    for (unsigned j = count; j < Width<W>::symbols; ++j) survivors[j] = 0;
    return count;
}

// Puts the survivors back where the mask has ones, zeros elsewhere.
template <unsigned W, class Symbol = typename Width<W>::Symbol>
inline void expand(const Symbol* survivors, typename Width<W>::Plane mask, Symbol* symbols) {
    for (unsigned j = 0; j < Width<W>::symbols; ++j) {
        const Symbol present = mask & 1;
        symbols[j] = static_cast<Symbol>(*survivors & (Symbol{0} - present));
        survivors += present;
        mask >>= 1;
    }
}

}  // namespace
}  // namespace planezip
