import { expect, test } from 'vitest'
import { proxyFromEnvironment } from './environment-proxy.ts'

const proxy = 'http://proxy.corp:3128'

test.each([
  ['https://api.example:6443', { HTTPS_PROXY: proxy }, proxy],
  ['https://api.example:6443', { https_proxy: proxy }, proxy],
  ['https://api.example:6443', { HTTPS_PROXY: 'proxy.corp:3128' }, proxy],
  ['https://api.example:6443', { HTTP_PROXY: proxy }, undefined],
  ['http://api.example', { HTTP_PROXY: proxy }, proxy],
  ['https://api.example:6443', {}, undefined],
  ['https://api.example:6443', { HTTPS_PROXY: ' ' }, undefined],
  ['https://127.0.0.1:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://127.9.9.9:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://[::1]:6443', { HTTPS_PROXY: proxy }, undefined],
  ['https://localhost:6443', { HTTPS_PROXY: proxy }, undefined],
  ['nonsense', { HTTPS_PROXY: proxy }, undefined],
])('for %s with %j it is %s', (server, env, wanted) => {
  expect(proxyFromEnvironment(server, env)).toBe(wanted)
})

test.each([
  ['*', 'https://api.example:6443', true],
  ['api.example', 'https://api.example:6443', true],
  ['API.example', 'https://api.example:6443', true],
  ['other, api.example ,', 'https://api.example:6443', true],
  ['example', 'https://api.example:6443', true],
  ['.example', 'https://api.example:6443', true],
  ['*.example', 'https://api.example:6443', true],
  ['ample', 'https://api.example:6443', false],
  ['.api.example', 'https://api.example:6443', false],
  ['api.example:6443', 'https://api.example:6443', true],
  ['api.example:443', 'https://api.example:6443', false],
  ['api.example:443', 'https://api.example', true],
  ['10.0.0.0/8', 'https://10.96.0.1', true],
  ['10.0.0.0/8', 'https://11.96.0.1', false],
  ['10.0.0.0/99', 'https://10.96.0.1', false],
  ['10.96.0.1', 'https://10.96.0.1', true],
  ['10.96.0.1:443', 'https://10.96.0.1', true],
  ['0.1', 'https://10.96.0.1', false],
  ['fd00::/8', 'https://[fd00::1]:6443', true],
  ['[fd00::1]:6443', 'https://[fd00::1]:6443', true],
  ['fd00::/8', 'https://10.96.0.1', false],
  ['', 'https://api.example', false],
])('NO_PROXY=%s spares %s: %s', (list, server, spares) => {
  expect(proxyFromEnvironment(server, { HTTPS_PROXY: proxy, NO_PROXY: list })).toBe(spares ? undefined : proxy)
})
