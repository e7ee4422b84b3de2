import { describeError } from '#common/errors/errors.ts'

/**
 * SIGKILL for what runs in a container by a pattern of its command line, without pkill, which images lack.
 *
 * @param run runs a script of a shell in that container
 */
export async function killInContainer(run: (script: string) => Promise<unknown>, pattern: string): Promise<void> {
  const script = `for p in /proc/[0-9]*; do case "$(tr '\\0' ' ' <$p/cmdline)" in ${pattern}) kill -9 "\${p#/proc/}";; esac; done 2>/dev/null; true`
  try {
    await run(script)
  } catch (error) {
    // A container whose first process is gone takes the shell that killed it along.
    if (!describeError(error).includes('exit code 137')) throw error
  }
}
