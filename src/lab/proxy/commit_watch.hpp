#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::torture {

/// Follows one PostgreSQL connection (protocol 3.0) and finds the commits in it, asked and
/// answered: COMMIT, and an UPDATE of a cursor that is a transaction of its own. Of TLS, or of what
/// is not PostgreSQL, it sees nothing. Among several statements of a message COMMIT is known by the
/// semicolons around it, near the beginning; a statement prepared under a name asks each time it is
/// bound.
///
/// Units: offsets into the bytes given. One that lies in earlier bytes, already reported as
/// harmless, is 0: the rest of its message is still to come, and without it nobody can read it.
class CommitWatch {
 public:
  using Offsets = std::vector<std::size_t>;

  /// Where messages that ask for a commit begin.
  [[nodiscard]] Offsets from_client(std::string_view bytes);
  /// Where the answers "COMMIT", or "UPDATE" outside a transaction, begin.
  [[nodiscard]] Offsets from_server(std::string_view bytes);

 private:
  /// One direction: cuts the stream into messages, keeping no more than the beginning of one.
  struct Stream {
    bool typed = false;         ///< messages begin with a type; only the first ones do not
    std::size_t raw_bytes = 0;  ///< single bytes that answer a request for encryption
    std::string begun;          ///< of the current message: type, length and a little of its body
    std::size_t length = 0;     ///< of the current message, its type included; 0: not known yet
    std::size_t seen = 0;       ///< bytes of it that have passed
    bool judged = false;
  };

  template <class IsCommit>
  Offsets follow(Stream& stream, std::string_view bytes, IsCommit is_commit);
  bool asks_for_commit(std::string_view message);
  bool answers_commit(std::string_view message);
  void read_length(Stream& stream);
  void end_message(Stream& stream);

  std::set<std::string, std::less<>> prepared_;  ///< names of statements that commit
  bool in_transaction_ = false;                  ///< as the server's answers say
  Stream client_;
  Stream server_{.typed = true};
  bool opaque_ = false;  ///< not understood: nothing is searched for any more
};

}  // namespace seriatim::torture
