import { catalogue, remedyOf } from '#common/errors/error-catalogue.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { exitCodeOf } from '#cli/terminal/exit-codes.ts'
import { code, page, table } from './markdown.ts'

/** docs/reference/errors.md */
export function errorsPage(): string {
  const codes = Object.keys(catalogue) as (keyof typeof catalogue)[]
  const rows = codes.map((name) => {
    const entry = catalogue[name]
    return [
      code(name),
      entry.title,
      String(entry.status),
      String(exitCodeOf(new RegentError(name, say``))),
      remedies(name),
    ]
  })
  return page(
    'Errors',
    '`src/common/errors/error-catalogue.ts`',
    'Every error has a stable code. Its message says what was wrong, where, with the value; the catalogue says what to do about it. The API answers errors as `application/problem+json` with `code`, `detail` and `remedy`; the command line prints them on standard error and ends with the exit code.',
    table(['code', 'what', 'HTTP status', 'exit code', 'what to do'], rows),
  )
}

function remedies(name: keyof typeof catalogue): string {
  const [local, kubernetes] = [remedyOf(name, 'local'), remedyOf(name, 'kubernetes')]
  return local === kubernetes ? local : `${local} On Kubernetes: ${kubernetes}`
}
