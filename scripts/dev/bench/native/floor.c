/* floor COUNT AT_ONCE CMD: the least that starting processes costs. Starts and reaps, output to /dev/null, nothing else. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  long left = atol(argv[1]), room = atol(argv[2]), failed = 0, running = 0;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  while (left > 0 || running > 0) {
    if (left > 0 && running < room) {
      pid_t pid;
      if (posix_spawn(&pid, argv[3], &files, NULL, argv + 3, environ) != 0) return 1;
      left -= 1;
      running += 1;
      continue;
    }
    int status;
    if (wait(&status) < 0) return 1;
    running -= 1;
    if (status != 0) failed += 1;
  }
  return failed > 0;
}
