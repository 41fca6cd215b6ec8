// Symbols <-> bit-planes on 64-bit words, portably.
//
// A block is 1,024 bits, each at an address of ten bits: which word (4), where in it (6). Turning
// symbols into planes only permutes the address bits, and exchanging one word bit with one position
// bit is a masked swap between pairs of words. Six such stages do w = 16; four, and one swap inside
// the words, do w = 32. Every stage is its own inverse.
#pragma once

#include "bits.h"
#include "format.h"

namespace planezip {
namespace {

constexpr unsigned kWords = kBlockBytes / sizeof(uint64_t);

// Exchanges bit `kWordBit` of the word index with bit `kPositionBit` of the position.
template <unsigned kWordBit, unsigned kPositionBit>
inline void exchange(uint64_t* words) {
    constexpr unsigned stride = 1u << kWordBit;
    constexpr unsigned shift = 1u << kPositionBit;
    constexpr uint64_t mask = ~uint64_t{0} / ((uint64_t{1} << shift) + 1);
    for (unsigned first = 0; first < kWords; first += 2 * stride) {
        for (unsigned i = first; i < first + stride; ++i) {
            const uint64_t moved = ((words[i] >> shift) ^ words[i + stride]) & mask;
            words[i + stride] ^= moved;
            words[i] ^= moved << shift;
        }
    }
}

// Exchanges position bits 5 and 0 in every word.
inline void exchange_ends(uint64_t* words) {
    constexpr unsigned shift = 31;
    constexpr uint64_t mask = 0x00000000AAAAAAAA;
    for (unsigned i = 0; i < kWords; ++i) {
        const uint64_t moved = (words[i] ^ (words[i] >> shift)) & mask;
        words[i] ^= moved ^ (moved << shift);
    }
}

// One by one: vectors would be loaded from what was just stored in pieces, which takes long.
inline void store_words(const uint64_t* words, void* to) {
    auto* const bytes = static_cast<uint8_t*>(to);
    for (unsigned i = 0; i < kWords; ++i) store(bytes + i * sizeof *words, words[i]);
}

// Where the stages for w = 16 leave plane b: word bits (3, 2, 1, 0) hold bits (1, 0, 3, 2) of b.
constexpr unsigned word_of_plane(unsigned b) { return ((b << 2) | (b >> 2)) & 15; }

// planes[b] = the bits b of the 64 symbols of the block.
inline void symbols_to_planes(const void* symbols, uint64_t* planes) {
    uint64_t words[kWords];
    std::memcpy(words, symbols, kBlockBytes);
    exchange<3, 5>(words);
    exchange<2, 4>(words);
    exchange<1, 3>(words);
    exchange<0, 2>(words);
    exchange<3, 1>(words);
    exchange<2, 0>(words);
    for (unsigned b = 0; b < 16; ++b) planes[b] = words[word_of_plane(b)];
}

inline void planes_to_symbols(const uint64_t* planes, void* symbols) {
    uint64_t words[kWords];
    for (unsigned b = 0; b < 16; ++b) words[word_of_plane(b)] = planes[b];
    exchange<2, 0>(words);
    exchange<3, 1>(words);
    exchange<0, 2>(words);
    exchange<1, 3>(words);
    exchange<2, 4>(words);
    exchange<3, 5>(words);
    store_words(words, symbols);
}

// planes[b] = the bits b of the 32 symbols of the block.
inline void symbols_to_planes(const void* symbols, uint32_t* planes) {
    uint64_t words[kWords];
    std::memcpy(words, symbols, kBlockBytes);
    exchange<3, 4>(words);
    exchange<2, 3>(words);
    exchange<1, 2>(words);
    exchange<0, 1>(words);
    exchange_ends(words);
    std::memcpy(planes, words, kBlockBytes);
}

inline void planes_to_symbols(const uint32_t* planes, void* symbols) {
    uint64_t words[kWords];
    std::memcpy(words, planes, kBlockBytes);
    exchange_ends(words);
    exchange<0, 1>(words);
    exchange<1, 2>(words);
    exchange<2, 3>(words);
    exchange<3, 4>(words);
    store_words(words, symbols);
}

}  // namespace
}  // namespace planezip
