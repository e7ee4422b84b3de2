import { spokenIn, type Spoken } from '#failover/testing-sentence-corpus.ts'
import { localPlace } from '#common/errors/commands.ts'
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
export function sentencesPage(): string {
  const local = spokenIn(localPlace)
  const onKubernetes = spokenIn({ kind: 'kubernetes', namespace: 'shops', cluster: 'shop' })
  const sections = (Object.keys(titles) as (keyof Spoken)[]).map(
    (kind) => `## ${titles[kind]}\n\n${listed(local[kind])}`,
  )
  const known = new Set(Object.values(local).flat())
  const others = Object.values(onKubernetes)
    .flat()
    .filter((sentence) => !known.has(sentence))
  return page(
    'Sentences',
    '`failover/testing-sentence-corpus.ts`',
    'What Regent says of a cluster of three that has many kinds of trouble, with figures that are hard to say. A sentence is left out whose parts other lines have. `failover/sentences.test.ts` holds all of them to a few rules; whether they read well, a person sees here.',
    [...sections, `## With commands of Kubernetes\n\n${listed(others)}`].join('\n\n'),
  )
}

/** Each that says something new, other names and figures aside. */
function listed(sentences: readonly string[]): string {
  const said = new Set<string>()
  const lines = sentences.filter((sentence) => {
    const parts = sentence
      .split(/; |: |, but |, and /)
      .map((part) => part.replace(/shop-\d/g, 'x').replace(/\d+/g, '0'))
    const isNew = parts.some((part) => !said.has(part))
    for (const part of parts) said.add(part)
    return isNew
  })
  return lines.map((sentence) => `- ${sentence.replaceAll('<', '\\<')}`).join('\n')
}
