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

// The symbols from symbol i of a block on.
template <unsigned W>
inline typename SymbolLanes<W>::Vector lanes_at(const uint8_t* block, unsigned i) {
    return load<typename SymbolLanes<W>::Vector>(block + i * sizeof(typename Width<W>::Symbol));
}

// A block of XORed numbers counted plane by plane; `pre` collects the numbers before the XOR.
template <unsigned W>
struct PlaneCounts {
    using L = SymbolLanes<W>;
    using Vector = typename L::Vector;
    using Plane = typename L::Plane;
    Vector xored[L::vectors];
    Ones<Vector> ones;
    Vector full = ~Vector{}, pre = {};

    // Adds vector k; lanes in `beyond` hold no number, but zero.
    void add(unsigned k, const Vector& numbers, const Vector& x, const Vector& beyond = Vector{}) {
        xored[k] = x;
        ones.add(x);
        full &= x | beyond;
        pre |= numbers;
    }

    // The classes if the planes in `full_planes` are all ones, and those of the symbols in `kept`
    // alone are looked at: all others have no ones.
    PlaneClasses classes(uint64_t full_planes, Plane kept) const {
        const auto counted = fold<W>(ones);
        const uint64_t coded = counted.one & ~full_planes & fold_or<W>(pre);
        uint64_t verbatim = coded & counted.two;
        for (uint64_t pairs = verbatim & ~counted.three; pairs != 0; pairs &= pairs - 1) {
            const Plane x = plane(lowest_bit(pairs));
            const Plane lowest = x & (Plane{0} - x);
            // All that is kept beyond the next above the lowest: a borrow runs up to that.
            const Plane beyond = (kept ^ lowest) - lowest;
            if (((x ^ lowest) & beyond) == 0) verbatim ^= pairs & (0 - pairs);
        }
        return {counted.one, coded, verbatim};
    }

private:
    Plane plane(unsigned b) const {
        Vector tops[L::vectors];
        for (unsigned k = 0; k < L::vectors; ++k) tops[k] = xored[k] << (W - 1 - b);
        return top_bits<W>(tops);
    }
};

// What one pass over the symbols finds out for ZVC, BX and ZBX.
template <unsigned W>
struct SymbolCounts {
    using Plane = typename Width<W>::Plane;
    PlaneCounts<W> planes;
    typename SymbolLanes<W>::Vector full_survivors;  // all ones among the symbols that are not zero
    Plane mask;                                      // of these

    PlaneClasses classes() const {
        return planes.classes(fold_and<W>(planes.full), static_cast<Plane>(~Plane{0}));
    }
    PlaneClasses survivor_classes() const {
        return planes.classes(fold_and<W>(full_survivors), mask);
    }
};

template <unsigned W>
inline SymbolCounts<W> count_symbols(const uint8_t* block) {
    using L = SymbolLanes<W>;
    using Vector = typename L::Vector;
    SymbolCounts<W> found = {};
    found.full_survivors = ~Vector{};
    Vector zeros[L::vectors];
    for (unsigned k = 0; k < L::vectors; ++k) {
        const Vector symbols = lanes_at<W>(block, k * L::count);
        const Vector x = symbols ^ (symbols >> 1);
        zeros[k] = (Vector)(symbols == 0);
        found.planes.add(k, symbols, x);
        found.full_survivors &= x | zeros[k];
    }
    found.mask = ~top_bits<W>(zeros);
    return found;
}

// The mask of the symbols that are not zero.
template <unsigned W>
inline typename Width<W>::Plane nonzero_mask(const uint8_t* block) {
    using L = SymbolLanes<W>;
    typename L::Vector zeros[L::vectors];
    for (unsigned k = 0; k < L::vectors; ++k) {
        zeros[k] = (typename L::Vector)(lanes_at<W>(block, k * L::count) == 0);
    }
    return ~top_bits<W>(zeros);
}

// The classes of the W + 1 planes of the differences of the symbols to their right neighbours.
template <unsigned W>
inline PlaneClasses delta_classes(const uint8_t* block) {
    using L = SymbolLanes<W>;
    using Vector = typename L::Vector;
    PlaneCounts<W> planes = {};
    Vector borrows[L::vectors];
    for (unsigned k = 0; k < L::vectors; ++k) {
        const Vector left = lanes_at<W>(block, k * L::count);
        const Vector right = lanes_at<W>(block, k * L::count + 1);
        Vector deltas = right - left;
        borrows[k] = (Vector)(right < left);
        if (k + 1 == L::vectors) {
            deltas &= clear_last<W>(1);
            borrows[k] &= clear_last<W>(1);
        }
        const Vector beyond = k + 1 == L::vectors ? ~clear_last<W>(1) : Vector{};
        planes.add(k, deltas, deltas ^ ((deltas >> 1) | (borrows[k] << (W - 1))), beyond);
    }
    constexpr unsigned count = Width<W>::symbols - 1;
    constexpr auto kept = low_bits<typename L::Plane>(count);
    PlaneClasses classes = planes.classes(fold_and<W>(planes.full), kept);
    classes.set_top(W, top_bits<W>(borrows), count);
    return classes;
}

}  // namespace
}  // namespace planezip
