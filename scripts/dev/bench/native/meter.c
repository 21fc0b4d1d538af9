/*
 * meter OUT.json CMD [ARG...]: runs a command and adds up the CPU of it and of everything it leaves behind, coordinators
 * in sessions of their own included: orphans come to this process, which waits until there is none.
 * OUT.json: {"status", "userMs", "systemMs", "processes": [{"cpuMs", "peakKb"}, ...]} with one entry for each process that
 * this one waited for, children that those waited for included in their figures.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double ms(struct timeval t) { return t.tv_sec * 1e3 + t.tv_usec / 1e3; }

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  FILE *out = fopen(argv[1], "w");
  if (out == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 2;
  pid_t first = fork();
  if (first < 0) return 2;
  if (first == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status = 0, ended, firstStatus = 0, count = 0;
  struct rusage one, all;
  fprintf(out, "{\"processes\":[");
  for (pid_t pid; (pid = wait4(-1, &ended, 0, &one)) > 0; count++) {
    if (pid == first) firstStatus = ended;
    fprintf(out, "%s{\"cpuMs\":%.3f,\"peakKb\":%ld}", count > 0 ? "," : "", ms(one.ru_utime) + ms(one.ru_stime), one.ru_maxrss);
  }
  getrusage(RUSAGE_CHILDREN, &all);
  status = WIFEXITED(firstStatus) ? WEXITSTATUS(firstStatus) : 128 + WTERMSIG(firstStatus);
  fprintf(out, "],\"status\":%d,\"userMs\":%.3f,\"systemMs\":%.3f}\n", status, ms(all.ru_utime), ms(all.ru_stime));
  return fclose(out) == 0 ? 0 : 2;
}
