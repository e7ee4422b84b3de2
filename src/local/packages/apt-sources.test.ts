import { describe, expect, it } from 'vitest'
import {
  debianMirrors,
  parseDeb822Sources,
  parseOneLineSources,
  sourcesFileFor,
  type AptSource,
} from './apt-sources.ts'

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg'

function source(part: Partial<AptSource>): AptSource {
  return {
    uris: ['http://mirror.example/debian'],
    suites: ['bookworm'],
    components: ['main'],
    signedBy: undefined,
    trusted: false,
    ...part,
  }
}

describe('one-line sources', () => {
  it('gives URI, suite and components of a plain line', () => {
    expect(parseOneLineSources('deb http://mirror.example/debian bookworm main contrib\n')).toEqual([
      source({ components: ['main', 'contrib'] }),
    ])
  })

  it('reads the options in brackets', () => {
    const text = `deb [ arch=amd64,arm64 signed-by=${keyring} trusted=yes ] http://mirror.example/debian bookworm main`
    expect(parseOneLineSources(text)).toEqual([source({ signedBy: keyring, trusted: true })])
  })

  it.each([
    ['a comment', '# deb http://mirror.example/debian bookworm main'],
    ['an empty line', '   '],
    ['sources of packages', 'deb-src http://mirror.example/debian bookworm main'],
    ['a word that only begins like deb', 'debug http://mirror.example/debian bookworm main'],
  ])('skips %s', (_, line) => {
    expect(parseOneLineSources(`${line}\n`)).toEqual([])
  })

  it('does not take a comment at the end of a line for components', () => {
    expect(parseOneLineSources('deb\thttp://mirror.example/debian  bookworm main # the main archive')).toEqual([
      source({}),
    ])
  })
})

describe('deb822 sources', () => {
  it('keeps every URI and suite of a stanza together', () => {
    const text = `Types: deb deb-src\nURIs: http://one.example/debian http://two.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: ${keyring}\n`
    expect(parseDeb822Sources(text)).toEqual([
      source({
        uris: ['http://one.example/debian', 'http://two.example/debian'],
        suites: ['bookworm', 'bookworm-updates'],
        signedBy: keyring,
      }),
    ])
  })

  it('tells stanzas apart by lines that are empty or blank, and not by comments', () => {
    const stanza = 'Types: deb\n# a frozen copy\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main'
    expect(parseDeb822Sources(`${stanza}\n \n${stanza}\n\n\n${stanza}\n`)).toHaveLength(3)
  })

  it.each(['Types: deb-src', 'Types: deb\nEnabled: no'])('skips a stanza with %j', (first) => {
    expect(
      parseDeb822Sources(`${first}\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\n`),
    ).toEqual([])
  })

  it('takes field names in any case and values over several lines', () => {
    const text =
      'types: deb\nuris:\n http://one.example/debian\n http://two.example/debian\nSUITES: bookworm\ncomponents: main\ntrusted: yes\n'
    expect(parseDeb822Sources(text)).toEqual([
      source({ uris: ['http://one.example/debian', 'http://two.example/debian'], trusted: true }),
    ])
  })

  it('hands an embedded key on as it was written', () => {
    const key = '\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEY865UxYJKwYB\n -----END PGP PUBLIC KEY BLOCK-----'
    const [parsed] = parseDeb822Sources(
      `Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\nSigned-By:${key}\n`,
    )
    expect(parsed?.signedBy).toBe(key)
    const written = sourcesFileFor(
      { uri: 'http://mirror.example/debian', signedBy: parsed?.signedBy, trusted: false },
      'sid',
      'amd64',
    )
    expect(parseDeb822Sources(written)).toEqual([source({ suites: ['sid'], signedBy: key })])
  })
})

describe('the choice of a mirror', () => {
  it('leaves out security updates, vendors of other suites, other components and discs', () => {
    const sources = [
      source({ uris: ['http://mirror.example/debian-security'], suites: ['bookworm-security'] }),
      source({ uris: ['https://vendor.example/apt'], suites: ['nodistro'] }),
      source({ uris: ['https://vendor.example/containers'], components: ['stable'] }),
      source({ uris: ['cdrom:[Debian'] }),
      source({ uris: ['http://mirror.example/debian'], suites: ['bookworm', 'bookworm-updates'] }),
    ]
    expect(debianMirrors(sources, 'bookworm').map((mirror) => mirror.uri)).toEqual(['http://mirror.example/debian'])
  })

  it('prefers what Debian’s archive keys sign, then what apt’s default keys sign, to a vendor’s own key', () => {
    const sources = [
      source({ uris: ['https://vendor.example/prod'], signedBy: '/usr/share/keyrings/vendor.gpg' }),
      source({ uris: ['http://default.example/debian'] }),
      source({ uris: ['http://archive.example/debian'], signedBy: keyring }),
    ]
    expect(debianMirrors(sources, 'bookworm').map((mirror) => mirror.uri)).toEqual([
      'http://archive.example/debian',
      'http://default.example/debian',
      'https://vendor.example/prod',
    ])
  })

  it('accepts the suites’ general names as well as the codename, and a mirror once', () => {
    const sources = [
      source({ suites: ['testing'] }),
      source({ suites: ['sid'] }),
      source({ suites: ['forky'] }),
      source({ suites: ['jammy'], uris: ['http://other.example/'] }),
    ]
    expect(debianMirrors(sources, 'forky')).toEqual([
      { uri: 'http://mirror.example/debian', signedBy: undefined, trusted: false },
    ])
  })
})
