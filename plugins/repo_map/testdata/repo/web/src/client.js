class Client {
  connect() {
    return helper();
  }
}
module.exports = { Client };
