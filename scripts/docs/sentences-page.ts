import { keysSpoken, type Spoken } from '#failover/testing-sentence-corpus.ts'
import { errorsInSource, noticesOfAgents, wordsOfAgents, type NoticeKey } from '#test/support/notices-in-source.ts'
import { page } from './markdown.ts'

const titles: Readonly<Record<keyof Spoken, string>> = {
  decisions: 'What is done, or why nothing is',
  reasons: 'Why not otherwise',
  analyses: 'What is seen',
  commits: 'Why the record was changed',
  refusals: 'Why something that was asked for is refused, and what would be given up',
  steps: 'What a dry run says would be done',
}

/** docs/reference/sentences.md */
export async function sentencesPage(): Promise<string> {
  const keys = keysSpoken()
  const words = await wordsOfAgents()
  const sections = (Object.keys(titles) as (keyof Spoken)[]).map(
    (kind) => `## ${titles[kind]}\n\n${listed(keys[kind])}`,
  )
  return page(
    'Sentences',
    '`failover/testing-sentence-corpus.ts`',
    'What Regent says of a cluster of three that has many kinds of trouble, in either mode. `‹name›`, `‹count›`, `‹duration›`, `‹number›`, `‹time›` and `‹text›` stand for what changes; a decision is news in the log and in Events where more than its figures differ. Commands are as on one machine: on Kubernetes they are printed as `kubectl regent`. A sentence is left out whose parts other lines have. `failover/sentences.test.ts` holds all of them to a few rules; whether they read well, a person sees here.',
    ...sections,
    '## What agents notice',
    '`regent topology` shows the last notices of each instance, with these codes, and the agent’s log has all of them. Read from the sources of agents: a part whose kind these do not tell is a ‹name›.',
    coded(await noticesOfAgents()),
    '## What agents are about',
    'An instance that is not yet what it is assigned to be says so, in `regent topology` and behind what the manager says. Read from the sources of agents, too.',
    listed(words.course),
    '## Why lifecycle actions do nothing',
    'The answer of a lifecycle action that is refused, or of a probe that finds something; behind that comes the name of the error.',
    listed(words.refusal),
    '## What errors say',
    'By their code, which `docs/reference/errors.md` explains. Read from the sources of all rooms; what is not written beside an error is not here, as the words of mysqld.',
    coded(await errorsInSource()),
  )
}

function coded(all: readonly NoticeKey[]): string {
  return all.map(({ code, key }) => `- \`${code}\`: ${key.replaceAll('<', '\\<')}`).join('\n')
}

/** Each that says something new. */
function listed(keys: readonly string[]): string {
  const said = new Set<string>()
  const lines = keys.filter((key) => {
    const parts = key.split(/; |: |, but |, and /)
    const isNew = parts.some((part) => !said.has(part))
    for (const part of parts) said.add(part)
    return isNew
  })
  return lines.map((key) => `- ${key.replaceAll('<', '\\<')}`).join('\n')
}
