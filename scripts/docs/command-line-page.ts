import type { Argument, Command, Option } from 'commander'
import { exitCodeMeanings } from '#cli/terminal/exit-codes.ts'
import { processIo } from '#cli/terminal/io.ts'
import { buildWholeProgram } from '#cli/program.ts'
import { manager } from '#kube/names/manager-names.ts'
import { faults } from '#local/faults/fault-names.ts'
import { environmentTable } from './environment.ts'
import { code, page, table } from './markdown.ts'

/** docs/reference/cli.md */
export async function commandLinePage(): Promise<string> {
  const program = await buildWholeProgram(processIo())
  const exitRows = Object.entries(exitCodeMeanings).map(([number, meaning]) => [number, meaning])
  return page(
    'Command line',
    'the definitions in `src/cli/`',
    'The command runs from a clone as `bin/regent`. Results go to standard output, errors and progress to standard error. With `-o json` both are JSON, a line each. Colours appear only on a terminal. A cluster is left out where there is only one; instances are named `<cluster>-<ordinal>`.',
    'Commands that ask a manager ask that of a local cluster, unless `--api` and `--token-file`, or `REGENT_API` and `REGENT_TOKEN_FILE`, name another.',
    '## On Kubernetes',
    'Kubernetes is asked when one of `--namespace`, `--context`, `--kubeconfig` and `--manager-namespace` is given, when the command runs as a plugin of kubectl, and for a cluster named with its namespace, `<namespace>/<name>`. It is never asked just because nothing was found here: the context of a kubeconfig may be one that nobody thought of. These options outrank `REGENT_API`; `--api` beside them is refused.',
    'Put `bin/kubectl-regent`, or a symbolic link to it, on `PATH`, and `kubectl regent topology shop -n shops` works; options of kubectl may stand before or after the verb. A name without a namespace is looked for in `--namespace`, else in that of the context. A cluster is left out where its namespace has only one.',
    'The command opens a port-forward to a manager’s pod itself, the leader’s if there is one; kubectl is not needed. In the manager’s namespace it must be allowed to:',
    table(['verb', 'what', 'why'], rights),
    '## Exit codes',
    table(['code', 'meaning'], exitRows),
    '## Environment',
    environmentTable(),
    '## The folder of a local cluster',
    'Everything of a local cluster lies in one folder that only its owner can read: below `REGENT_HOME`, or where `--data` said.',
    table(
      ['file', 'what it is'],
      files.map(([name, what]) => [code(name), what]),
    ),
    ...sections(program, ''),
  )
}

const rights: readonly (readonly [string, string, string])[] = [
  ['get', `secrets ${manager.tokenSecret}`, 'the API’s token'],
  ['get', `configmaps ${manager.authorityConfigMap}`, 'the CA that its certificate must be from'],
  ['list', 'pods', 'to find a manager that is ready'],
  ['get, create', 'pods/portforward', 'to connect to it; Kubernetes before 1.35 asks for get alone'],
  ['get', 'leases.coordination.k8s.io', 'to ask the leader first; without it one pod after the other is asked'],
]

const files: readonly (readonly [string, string])[] = [
  ['cluster.json', 'name, addresses, ports and programs'],
  ['spec.json', 'the cluster’s spec: docs/reference/configuration.md'],
  [
    'routes.json',
    'where the primary is: `{version, primary: {epoch, instance, host, port}}`, replaced in one rename at every failover; applications on this machine can watch it',
  ],
  ['records/', 'the record, with `--store file`'],
  ['secrets/', 'tokens and passwords, each in a file that only its owner can read'],
  [
    'instances/<name>/',
    'an instance’s volume: its data, its agent’s state and configuration (`agent.json`), archives of errant transactions',
  ],
  [
    'archives/<name>/',
    'archives of adopted servers that were given back (`regent adopt watch`); no command removes them, `--purge` neither',
  ],
  ['logs/', 'a log per process, JSON lines, put aside at 10 MB, two of each kept'],
  ['run/', 'what runs now, and what `regent local fault` stopped'],
]

function sections(command: Command, path: string): readonly string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help')
    .flatMap((child) => {
      const name = `${path} ${child.name()}`.trim()
      const children = sections(child, name)
      return children.length > 0 && !runsAlone(child) ? children : [...section(child, name), ...children]
    })
}

/** A verb that does something without a second one, such as `regent adopt FILE`. */
function runsAlone({ registeredArguments }: Command): boolean {
  return registeredArguments.length > 0
}

function section(command: Command, name: string): readonly string[] {
  const words = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
  const options = command.options.filter((option) => !option.hidden)
  return [
    `## regent ${name}`,
    '```\n' + ['regent', name, ...words, ...(options.length > 0 ? ['[options]'] : [])].join(' ') + '\n```',
    command.description(),
    ...(words.length === 0 ? [] : [table(['argument', 'meaning'], command.registeredArguments.map(argumentRow))]),
    ...optionTables(options),
    ...(name === 'local fault'
      ? [
          table(
            ['fault', 'what it does'],
            Object.entries(faults).map(([fault, what]) => [code(fault), what]),
          ),
        ]
      : []),
  ]
}

/** A table for each group, under its heading; those of no group come first, without one. */
function optionTables(options: readonly Option[]): readonly string[] {
  const groups = [...new Set(options.map((option) => option.helpGroupHeading))]
  return groups.flatMap((group) => [
    ...(group === undefined ? [] : [group]),
    table(
      ['option', 'meaning', 'default'],
      options.filter((option) => option.helpGroupHeading === group).map(optionRow),
    ),
  ])
}

function argumentRow(argument: Argument): readonly string[] {
  const fallback = argument.defaultValue === undefined ? '' : `; default ${code(String(argument.defaultValue))}`
  const choices = argument.argChoices === undefined ? '' : `: ${argument.argChoices.map(code).join(', ')}`
  return [code(argument.name()), `${argument.description}${choices}${fallback}`]
}

/** Defaults that depend on something are part of the description, in brackets at its end. */
function optionRow(option: Option): readonly string[] {
  const [, meaning = option.description, inWords] = /^(.*?)(?: \(default: (.*)\))?$/.exec(option.description) ?? []
  const value = option.defaultValue === undefined ? undefined : code(String(option.defaultValue))
  const fallback = inWords ?? value ?? (option.mandatory ? 'required' : 'no')
  return [code(option.flags), meaning, fallback]
}
