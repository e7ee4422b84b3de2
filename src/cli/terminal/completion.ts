import type { Command } from 'commander'

/** What can follow one command: its subcommands, options and fixed words. */
export interface CompletionNode {
  /** Words after `regent`, for example `local up`; '' for regent itself. */
  readonly path: string
  readonly words: readonly { readonly word: string; readonly description: string }[]
}

/** Every command that is not hidden, with what may be typed after it. */
export function completionTree(command: Command, path = ''): readonly CompletionNode[] {
  const help = command.createHelp()
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const options = help
    .visibleOptions(command)
    .map((option) => ({ word: option.long ?? option.short ?? '', description: option.description }))
  const choices = command.registeredArguments.flatMap((argument) =>
    (argument.argChoices ?? []).map((word) => ({ word, description: argument.description })),
  )
  const words = [
    ...children.map((child) => ({ word: child.name(), description: child.description() })),
    ...choices,
    ...options,
  ]
  return [
    { path, words },
    ...children.flatMap((child) => completionTree(child, path === '' ? child.name() : `${path} ${child.name()}`)),
  ]
}

export function completionScript(shell: 'bash' | 'zsh' | 'fish', tree: readonly CompletionNode[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](tree)
}

/** The case patterns that bash and zsh share: the words typed so far that are commands, then what may follow. */
function cases(tree: readonly CompletionNode[]): string {
  return tree.map((node) => `    '${node.path}') words='${node.words.map(({ word }) => word).join(' ')}' ;;`).join('\n')
}

/** Collects the commands among the words before the cursor; options and values are passed over. */
function pathLoop(words: string, tree: readonly CompletionNode[]): string {
  const paths = tree
    .filter((node) => node.path !== '')
    .map((node) => `'${node.path}'`)
    .join('|')
  return `  local path='' word words=''
  for word in ${words}; do
    case "\${path:+$path }$word" in
      ${paths}) path="\${path:+$path }$word" ;;
    esac
  done`
}

function bashScript(tree: readonly CompletionNode[]): string {
  return `# regent completion for bash; use it with: source <(regent completion bash)
_regent() {
${pathLoop('"${COMP_WORDS[@]:1:COMP_CWORD-1}"', tree)}
  case "$path" in
${cases(tree)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _regent regent`
}

function zshScript(tree: readonly CompletionNode[]): string {
  return `#compdef regent
# regent completion for zsh; use it with: source <(regent completion zsh)
_regent() {
${pathLoop('"${(@)words[2,CURRENT-1]}"', tree).replaceAll("words=''", "follow=''").replace('"${(@)words', '"${(@)typed')}
  case "$path" in
${cases(tree).replaceAll(" words='", " follow='")}
  esac
  compadd -- \${=follow}
}
compdef _regent regent`
}

function fishScript(tree: readonly CompletionNode[]): string {
  const lines = tree.flatMap((node) => {
    const seen = node.path.split(' ').filter((word) => word !== '')
    const siblings = tree
      .filter((other) => isChild(node.path, other.path))
      .map((other) => other.path.split(' ').at(-1) ?? '')
    const within = seen.map((word) => `__fish_seen_subcommand_from ${word}`)
    const before = siblings.length === 0 ? [] : [`not __fish_seen_subcommand_from ${siblings.join(' ')}`]
    const condition = [...within, ...before].join('; and ') || 'true'
    return node.words.map(
      ({ word, description }) =>
        `complete -c regent -f -n '${condition}' ${word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`} -d '${description.replaceAll(/['\\]/g, '’')}'`,
    )
  })
  return ['# regent completion for fish; use it with: regent completion fish | source', ...lines].join('\n')
}

function isChild(parent: string, path: string): boolean {
  const rest = parent === '' ? path : path.startsWith(`${parent} `) ? path.slice(parent.length + 1) : ''
  return rest !== '' && !rest.includes(' ')
}
