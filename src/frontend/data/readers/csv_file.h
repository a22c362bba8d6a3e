#pragma once
// Numbers in files of comma-separated values.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace partita {

/// The numbers of a file, row by row.
struct CsvNumbers {
  std::vector<std::string> names;  // names of the columns, in file order
  std::vector<bool> are_whole;     // whether all numbers of a column are written without a point and an exponent
  std::vector<double> values;      // a row after the other
  int64_t rows() const { return static_cast<int64_t>(values.size() / names.size()); }
};

/// Reads comma-separated values (RFC 4180; also .gz, .xz): a first line of names, then lines of as many finite numbers.
/// Fields may have quotes and spaces around them; empty lines are skipped, and a number too small for a double is 0.
/// Throws MissingFile if the file cannot be opened, and InvalidFile, with the line, for anything else: a first line
/// that has numbers alone, names that are empty or given twice, a line of another number of fields, what is no finite
/// number, quotes that do not end in their line, a line of more than 16 MiB, and a file of more than 4 GiB unpacked.
/// Throws RuntimeFailure(out_of_memory) if the numbers do not fit the memory.
CsvNumbers read_csv(const std::filesystem::path& path);

}  // namespace partita
