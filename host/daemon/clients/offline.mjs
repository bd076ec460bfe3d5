// Imported before a server's program, it lets that reach no host but this one, and be reached
// by no other.
import dns from 'node:dns';
import net from 'node:net';

const lookup = dns.lookup;
dns.lookup = (host, options, done) => {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1') {
    return lookup(host, options, done);
  }
  const err = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND', errno: -3008, syscall: 'getaddrinfo', hostname: host });
  process.nextTick(typeof options === 'function' ? options : done, err);
};

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, port, ...(/^\d+$/.test(port) && typeof rest[0] !== 'string' ? ['127.0.0.1'] : []), ...rest);
};
