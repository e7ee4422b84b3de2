/**
 * What Node's `http` exports, without what nobody here uses. `import … from 'node:http'` reads every export, and with
 * them Node's WebSocket and `fetch`: 11 MB in each agent (measured with Node 24.21, as memory of the process).
 */
export const { Agent, createServer, request } = process.getBuiltinModule('node:http')
