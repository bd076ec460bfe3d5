// Imported before a server's program, it lets that reach no host but this one.
import dns from 'node:dns';

const lookup = dns.lookup;
dns.lookup = (host, options, done) => {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1') {
    return lookup(host, options, done);
  }
  const err = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND', errno: -3008, syscall: 'getaddrinfo', hostname: host });
  process.nextTick(typeof options === 'function' ? options : done, err);
};
