#include "embedded/embedded_database.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "embedded/embedded_server.hpp"
#include "seriatim/error.hpp"

namespace seriatim::embedded {

namespace fs = std::filesystem;

/// flock(2) on a file of the folder; let go by the destructor or by the end of the process.
class EmbeddedDatabase::FileLock {
 public:
  explicit FileLock(const fs::path& file)
      : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw Error("cannot write " + file.string() + ": " + std::strerror(errno));
  }
  ~FileLock() { forget(); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  void share() { wait_for(LOCK_SH); }
  void own() { wait_for(LOCK_EX); }
  bool try_own() { return ::flock(fd_, LOCK_EX | LOCK_NB) == 0; }
  /// In a forked child: the lock stays the parent's.
  void forget() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  void wait_for(int kind) {
    while (::flock(fd_, kind) != 0) {
      if (errno != EINTR) throw Error(std::string("flock: ") + std::strerror(errno));
    }
  }

  int fd_;
};

namespace {

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

/// No terminal, no pipe of the command's is kept open by what outlives it.
void leave_the_terminal() {
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

EmbeddedDatabase::EmbeddedDatabase(const fs::path& folder) : folder_(fs::absolute(folder)) {
  fs::create_directories(folder_);
  use_ = std::make_unique<FileLock>(folder_ / "users.lock");
  use_->share();  // waits while a keeper stops the server
  FileLock starting(folder_ / "start.lock");
  starting.own();
  const bool running = !FileLock(folder_ / "keeper.lock").try_own();
  url_ = running ? first_line(folder_ / "url") : start_keeper(starting);
}

EmbeddedDatabase::~EmbeddedDatabase() = default;

std::string EmbeddedDatabase::start_keeper(FileLock& starting) {
  std::array<int, 2> answer{};
  if (::pipe2(answer.data(), O_CLOEXEC) != 0) throw Error("pipe: no file descriptors left");
  const auto child = ::fork();
  if (child == 0) {
    ::close(answer[0]);
    starting.forget();
    use_->forget();
    keep(answer[1]);
  }
  ::close(answer[1]);
  auto text = child < 0 ? "" : read_to_end(answer[0]);
  ::close(answer[0]);
  if (text.rfind("postgresql://", 0) == 0) return text;
  throw Error("the embedded database in " + folder_.string() +
              " did not start: " + (text.empty() ? "its keeper ended" : text));
}

/// The keeper: its whole life.
void EmbeddedDatabase::keep(int answer) const {
  try {
    leave_the_terminal();
    FileLock users(folder_ / "users.lock");  // let go last: who then comes finds no keeper
    FileLock alive(folder_ / "keeper.lock");
    alive.own();
    EmbeddedServer server({folder_ / "server", {}, {}});
    std::ofstream(folder_ / "url") << server.url() << '\n' << std::flush;
    (void)!::write(answer, server.url().data(), server.url().size());
    ::close(answer);
    users.own();
    server.stop(EmbeddedServer::Stop::fast);
  } catch (const std::exception& failed) {
    (void)!::write(answer, failed.what(), std::strlen(failed.what()));
  }
  ::_exit(0);
}

}  // namespace seriatim::embedded
