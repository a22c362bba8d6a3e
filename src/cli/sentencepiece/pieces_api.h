#pragma once
// The C interface of the module that holds the library SentencePiece. Debian's libsentencepiece has an older copy of
// protobuf inside, whose names are those of the protobuf that Partita links. So the library is not linked to the
// program but to a module, which is loaded with its own names first.

#include <cstddef>
#include <cstdint>

extern "C" {

inline constexpr const char* kPiecesModule = "libpartita_sentencepiece.so";

/// Functions of the module. `open` returns null if the bytes are no model. `encode` calls `add` with each id, and
/// returns false if the text cannot be encoded. `decode` calls `add` with the text of ids below `size`. `id_of` returns
/// -1 if there is no such token.
struct PartitaPiecesApi {
  void* (*open)(const char* model, size_t bytes);
  void (*close)(void* pieces);
  bool (*encode)(void* pieces, const char* text, size_t bytes, void (*add)(void* ids, int32_t id), void* ids);
  void (*decode)(void* pieces, const int32_t* ids, size_t count,
                 void (*add)(void* text, const char* part, size_t bytes), void* text);
  int64_t (*size)(void* pieces);
  int32_t (*id_of)(void* pieces, const char* token);
};

/// Returns the functions; the only symbol of the module.
const PartitaPiecesApi* partita_pieces_api();
}
