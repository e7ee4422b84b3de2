import { Argument, type Command } from 'commander'
import type { Io } from './terminal/io.ts'

export function addCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print a completion script, for example: source <(regent completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScript, completionTree } = await import('./terminal/completion.ts')
      io.out(completionScript(shell, completionTree(program)))
    })
}
