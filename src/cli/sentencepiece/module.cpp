// The module with the library SentencePiece.

#include <sentencepiece_processor.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/sentencepiece/pieces_api.h"

namespace {

using Pieces = sentencepiece::SentencePieceProcessor;

void* open_pieces(const char* model, size_t bytes) {
  auto pieces = std::make_unique<Pieces>();
  return pieces->LoadFromSerializedProto({model, bytes}).ok() ? pieces.release() : nullptr;
}

void close_pieces(void* pieces) { delete static_cast<Pieces*>(pieces); }

bool encode_pieces(void* pieces, const char* text, size_t bytes, void (*add)(void* ids, int32_t id), void* ids) {
  std::vector<int> fresh;
  if (!static_cast<Pieces*>(pieces)->Encode({text, bytes}, &fresh).ok()) return false;
  for (const int id : fresh) add(ids, id);
  return true;
}

void decode_pieces(void* pieces, const int32_t* ids, size_t count,
                   void (*add)(void* text, const char* part, size_t bytes), void* text) {
  std::string decoded;
  if (!static_cast<Pieces*>(pieces)->Decode(std::vector<int>(ids, ids + count), &decoded).ok()) return;
  add(text, decoded.data(), decoded.size());
}

int64_t size_of_pieces(void* pieces) { return static_cast<Pieces*>(pieces)->GetPieceSize(); }

int32_t id_of_piece(void* pieces, const char* token) {
  const auto* one = static_cast<const Pieces*>(pieces);
  const int id = one->PieceToId(token);
  return id >= 0 && one->IdToPiece(id) == token ? id : -1;
}

constexpr PartitaPiecesApi kApi{open_pieces, close_pieces, encode_pieces, decode_pieces, size_of_pieces, id_of_piece};

}  // namespace

extern "C" __attribute__((visibility("default"))) const PartitaPiecesApi* partita_pieces_api() { return &kApi; }
