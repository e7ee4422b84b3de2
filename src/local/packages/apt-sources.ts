/**
 * What a Debian machine's own apt configuration says about where packages come from, in both of its formats
 * (sources.list(5)): one-line `.list` files and deb822 `.sources` files.
 */
export interface AptSource {
  readonly uris: readonly string[]
  readonly suites: readonly string[]
  readonly components: readonly string[]
  /** Keyring paths, fingerprints or an embedded key, exactly as written; undefined where apt's default keys hold. */
  readonly signedBy: string | undefined
  /** The administrator said not to check signatures (`trusted=yes`). */
  readonly trusted: boolean
}

/** A place to fetch Debian packages from. */
export interface DebianMirror {
  readonly uri: string
  readonly signedBy: string | undefined
  readonly trusted: boolean
}

/** The `deb` entries of a one-line file (`deb [signed-by=…] uri suite component…`). Lines that are none are skipped. */
export function parseOneLineSources(text: string): readonly AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line)
    if (match === null) return []
    const [, options = '', uri = '', suite = '', components = ''] = match
    const option = new Map(words(options).map((word) => splitAt(word, '=')))
    return [
      {
        uris: [uri],
        suites: [suite],
        components: words(components),
        signedBy: option.get('signed-by'),
        trusted: option.get('trusted') === 'yes',
      },
    ]
  })
}

/** The enabled `deb` stanzas of a deb822 file. Several URIs and suites of one stanza stay together. */
export function parseDeb822Sources(text: string): readonly AptSource[] {
  const withoutComments = text.split('\n').filter((line) => !line.startsWith('#'))
  return withoutComments
    .join('\n')
    .split(/\n\s*\n/)
    .map(fieldsOf)
    .filter((fields) => words(fields.get('types') ?? '').includes('deb') && fields.get('enabled') !== 'no')
    .map((fields) => ({
      uris: words(fields.get('uris') ?? ''),
      suites: words(fields.get('suites') ?? ''),
      components: words(fields.get('components') ?? ''),
      signedBy: fields.get('signed-by'),
      trusted: fields.get('trusted') === 'yes',
    }))
}

/** Fields of one stanza by lower-case name; continuation lines stay in the value, as an embedded key needs them. */
function fieldsOf(stanza: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  let name = ''
  for (const line of stanza.split('\n')) {
    if (/^\s/.test(line)) {
      fields.set(name, `${fields.get(name) ?? ''}\n${line}`)
      continue
    }
    const [key, value] = splitAt(line, ':')
    name = key.trim().toLowerCase()
    fields.set(name, value.trim())
  }
  return fields
}

/**
 * Mirrors that carry Debian itself, the likeliest first: entries for this release's suite with the component `main`.
 * A vendor's repository may look the same, so entries signed by Debian's archive keys come first, and the caller
 * tries the next one where `sid` is not found.
 */
export function debianMirrors(sources: readonly AptSource[], codename: string): readonly DebianMirror[] {
  const releases = new Set([codename, 'stable', 'oldstable', 'testing', 'unstable', 'sid'])
  const mirrors = sources
    .filter((source) => source.components.includes('main') && source.suites.some((suite) => releases.has(suite)))
    .flatMap(({ uris, signedBy, trusted }) => uris.map((uri) => ({ uri, signedBy, trusted })))
    .filter((mirror) => !mirror.uri.startsWith('cdrom:'))
  const unique = [...new Map(mirrors.map((mirror) => [mirror.uri, mirror])).values()]
  return unique.sort((one, other) => likelihood(other) - likelihood(one))
}

function likelihood(mirror: DebianMirror): number {
  if (mirror.signedBy?.includes('debian-archive')) return 2
  return mirror.signedBy === undefined ? 1 : 0
}

/**
 * A deb822 file that offers `suite` of this mirror for one architecture, checked with the same keys as on the machine.
 */
export function sourcesFileFor(mirror: DebianMirror, suite: string, architecture: string): string {
  const lines = [
    'Types: deb',
    `URIs: ${mirror.uri}`,
    `Suites: ${suite}`,
    'Components: main',
    `Architectures: ${architecture}`,
  ]
  if (mirror.signedBy !== undefined) lines.push(`Signed-By: ${mirror.signedBy}`)
  if (mirror.trusted) lines.push('Trusted: yes')
  return `${lines.join('\n')}\n`
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
