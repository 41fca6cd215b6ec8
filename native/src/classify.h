// Which code each plane of a block takes, found without transposing the block.
//
// XORing adjacent planes turns symbol s into s ^ (s >> 1), so a plane's class follows from counting
// the ones of its bit over all symbols. A zero symbol has no ones: the planes of the survivors have
// as many ones as those of the symbols, and only "all ones" and "adjacent" must be found anew.
#pragma once

#include "lanes.h"
#include "plane_code.h"
#include "transforms.h"

namespace planezip {
namespace {

// XORed numbers counted plane by plane; `pre` collects the numbers before the XOR.
template <unsigned W>
struct PlaneCounts {
    using Vector = typename SymbolLanes<W>::Vector;
    Ones<Vector> ones;
    Vector full = ~Vector{};
    Vector adjacent = {}, pre = {};

    PlaneClasses classes() const { return classes(fold_and<W>(full), fold_or<W>(adjacent)); }

    PlaneClasses classes(uint64_t full_planes, uint64_t adjacent_pairs) const {
        const auto counted = fold<W>(ones);
        const uint64_t coded = counted.one & ~full_planes & fold_or<W>(pre);
        // Neither a single one, nor two and adjacent.
        return {counted.one, coded, coded & counted.two & (counted.three | ~adjacent_pairs)};
    }
};

template <unsigned W>
inline typename SymbolLanes<W>::Vector xored(const typename SymbolLanes<W>::Vector& numbers) {
    return numbers ^ (numbers >> 1);
}

// The symbols from symbol i of a block on.
template <unsigned W>
inline typename SymbolLanes<W>::Vector lanes_at(const uint8_t* block, unsigned i) {
    return load<typename SymbolLanes<W>::Vector>(block + i * sizeof(typename Width<W>::Symbol));
}

// What one pass over the symbols finds out for ZVC, BX and ZBX.
template <unsigned W>
struct SymbolCounts {
    PlaneCounts<W> planes;
    typename SymbolLanes<W>::Vector full_survivors;  // all ones among the symbols that are not zero
    unsigned survivors;
};

template <unsigned W>
inline SymbolCounts<W> count_symbols(const uint8_t* block) {
    using L = SymbolLanes<W>;
    using Vector = typename L::Vector;
    SymbolCounts<W> found = {};
    found.full_survivors = ~Vector{};
    Vector zeros = {};
    for (unsigned k = 0; k < L::vectors; ++k) {
        const Vector symbols = lanes_at<W>(block, k * L::count);
        const Vector x = xored<W>(symbols);
        Vector neighbours = xored<W>(lanes_at<W>(block, k * L::count + 1));
        if (k + 1 == L::vectors) neighbours &= clear_last<W>(1);
        const Vector zero = (Vector)(symbols == 0);
        found.planes.ones.add(x);
        found.planes.full &= x;
        found.planes.adjacent |= x & neighbours;
        found.planes.pre |= symbols;
        found.full_survivors &= x | zero;
        zeros -= zero;
    }
    found.survivors = Width<W>::symbols - fold_sum<W>(zeros);
    return found;
}

// Gathers the top bits of all lanes of a block, whose other bits are zero, into a plane.
template <unsigned W>
struct TopBits {
    using L = SymbolLanes<W>;
    using Plane = typename L::Plane;
    // A part collects W bits of the plane from as many vectors as it takes: in lane i, the bits i,
    // i + L::count, ... of these, all at distances of L::count.
    static constexpr unsigned parts = Width<W>::symbols / W;
    static constexpr unsigned per_part = L::vectors / parts;
    typename L::Vector part[parts] = {};

    void add(unsigned k, const typename L::Vector& tops) {
        part[k / per_part] |= tops >> (W - 1 - k % per_part * L::count);
    }

    Plane plane() const {
        typename L::Vector weights = {};
        for (unsigned i = 0; i < L::count; ++i) weights[i] = 1u << i;
        Plane plane = 0;
        for (unsigned p = 0; p < parts; ++p) plane |= Plane{fold_or<W>(part[p] * weights)} << p * W;
        return plane;
    }
};

// The mask of the symbols that are not zero.
template <unsigned W>
inline typename Width<W>::Plane nonzero_mask(const uint8_t* block) {
    using L = SymbolLanes<W>;
    TopBits<W> zeros;
    for (unsigned k = 0; k < L::vectors; ++k) {
        const auto zero = (typename L::Vector)(lanes_at<W>(block, k * L::count) == 0);
        zeros.add(k, zero & (typename L::Vector{} + Width<W>::top));
    }
    return ~zeros.plane();
}

// The classes of the planes of the survivors.
template <unsigned W>
inline PlaneClasses survivor_classes(const uint8_t* block, const SymbolCounts<W>& found) {
    using Symbol = typename Width<W>::Symbol;
    const auto counted = fold<W>(found.planes.ones);
    Symbol adjacent = 0;
    if (counted.two & ~counted.three) {  // else no plane has just two ones, adjacent or not
        Symbol survivors[Width<W>::symbols] = {};
        compact<W>(block, nonzero_mask<W>(block), survivors);
        for (unsigned j = 0; j + 1 < Width<W>::symbols; ++j) {
            const Symbol x = survivors[j] ^ (survivors[j] >> 1);
            const Symbol neighbour = survivors[j + 1] ^ (survivors[j + 1] >> 1);
            adjacent |= x & neighbour;
        }
    }
    return found.planes.classes(fold_and<W>(found.full_survivors), adjacent);
}

// Differences of the symbols from i on to their right neighbours, and in `borrows`, at the top bit
// of each lane, their signs.
template <unsigned W>
inline typename SymbolLanes<W>::Vector deltas_at(const uint8_t* block, unsigned i,
                                           typename SymbolLanes<W>::Vector& borrows) {
    using Vector = typename SymbolLanes<W>::Vector;
    const Vector left = lanes_at<W>(block, i), right = lanes_at<W>(block, i + 1);
    const Vector deltas = right - left;
    borrows = ((~right & left) | (~(right ^ left) & deltas)) & (Vector{} + Width<W>::top);
    return deltas;
}

// The classes of the W + 1 planes of the differences.
template <unsigned W>
inline PlaneClasses delta_classes(const uint8_t* block) {
    using L = SymbolLanes<W>;
    using Vector = typename L::Vector;
    PlaneCounts<W> planes;
    TopBits<W> signs;
    for (unsigned k = 0; k < L::vectors; ++k) {
        Vector borrows, next_borrows;
        Vector deltas = deltas_at<W>(block, k * L::count, borrows);
        const Vector next = deltas_at<W>(block, k * L::count + 1, next_borrows);
        Vector neighbours = xored<W>(next) ^ next_borrows;
        Vector beyond = {};
        if (k + 1 == L::vectors) {
            deltas &= clear_last<W>(1);
            borrows &= clear_last<W>(1);
            neighbours &= clear_last<W>(2);
            beyond = ~clear_last<W>(1);
        }
        const Vector x = xored<W>(deltas) ^ borrows;
        planes.ones.add(x);
        planes.full &= x | beyond;
        planes.adjacent |= x & neighbours;
        planes.pre |= deltas;
        signs.add(k, borrows);
    }
    PlaneClasses classes = planes.classes();
    classes.set_top(W, signs.plane(), Width<W>::symbols - 1);
    return classes;
}

}  // namespace
}  // namespace planezip
